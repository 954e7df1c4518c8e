// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "accel/kernels/kernels.hpp"
#include "app/cosmo_fields.hpp"
#include "app/on_device.hpp"

namespace nearpeak::cosmo {
namespace {

// Rows that a thread goes down: as many as leave each multiprocessor enough threads.
constexpr std::uint64_t kBand = 16;

class OnDevice final : public Fields {
 public:
  OnDevice(const CaseContext& context, const Patch& patch)
      : Fields(context, patch),
        device_(*context.device),
        updates_(device_.new_background_stream()),
        exchanges_(device_.new_stream()),
        program_(kernels_of(device_, kernels::kCosmo)),
        update_(program_.kernel("cosmo_update")),
        pack_(program_.kernel("cosmo_pack")),
        unpack_(program_.kernel("cosmo_unpack")),
        write_(program_.kernel("cosmo_write")),
        find_wrong_(program_.kernel("cosmo_find_wrong")),
        values_(device_.memory(BufferKind::kDevice),
                (2 * (patch.side + 2 * kHalo) + patch.planes()) * sizeof(double), 1),
        search_(device_, patch_.cells()) {
    for (std::size_t i = 0; i < arrays(); ++i)
      arrays_.push_back(
          std::make_unique<SlotBuffer>(context.memory, layout_.cells * sizeof(double), 1));
  }

  void finish_update() override { updates_->synchronize(); }
  void pack(std::size_t set) override {
    for (const Side side : kSides)
      copy(*pack_, out(set, side), set, face_of(patch_, layout_, side, false));
    exchanges_->synchronize();
  }
  void unpack(std::size_t set) override {
    for (const Side side : kSides)
      copy(*unpack_, in(set, side), set, face_of(patch_, layout_, side, true));
    exchanges_->synchronize();
  }

  std::optional<Wrong> find_wrong(std::size_t set, const Values& values, bool around) override {
    give(values);
    const void* const cells = array(array_of(set));
    const void* const numbers = values_.slot(0);
    void* const found = search_.found();
    const std::uint64_t planes = patch_.planes();
    const std::uint64_t looks_around = around ? 1 : 0;
    find_wrong_->launch(search_.shape(),
                        {&cells, &layout_.origin, &layout_.pitch, &layout_.plane_pitch,
                         &patch_.side, &planes, &numbers, &looks_around, &found},
                        *exchanges_);
    exchanges_->synchronize();
    const auto first = search_.first();
    if (!first) return std::nullopt;
    const std::uint64_t wide = patch_.side + 2 * kHalo;
    const std::uint64_t plane = *first / (wide * wide);
    const std::uint64_t row = *first / wide % wide;
    const std::uint64_t column = *first % wide;
    Wrong wrong{.cell = layout_.origin - kHalo * layout_.pitch - kHalo +
                        plane * layout_.plane_pitch + row * layout_.pitch + column,
                .expected = values.rows[row] + values.columns[column] + values.planes[plane],
                .got = 0};
    arrays_[array_of(set)]->memory().to_host(
        &wrong.got, array(array_of(set)) + wrong.cell * sizeof(double), sizeof(double));
    return wrong;
  }

 protected:
  void write(std::size_t number, const Values& values, bool given) override {
    give(values);
    const void* const cells = array(number);
    const void* const numbers = values_.slot(0);
    const std::uint64_t planes = patch_.planes();
    const std::uint64_t all = given ? 1 : 0;
    write_->launch(threads_for(patch_.cells(), 1 << 20),
                   {&cells, &layout_.origin, &layout_.pitch, &layout_.plane_pitch, &patch_.side,
                    &planes, &numbers, &all},
                   *exchanges_);
    exchanges_->synchronize();
  }

  void compute(std::size_t to, std::size_t from) override {
    const void* const now = array(to);
    const void* const here = array(from);
    const std::uint64_t planes = patch_.planes();
    update_->launch(threads_for(planes * patch_.side * ((patch_.side + kBand - 1) / kBand)),
                    {&now, &here, &layout_.origin, &layout_.pitch, &layout_.plane_pitch,
                     &patch_.side, &planes, &kBand},
                    *updates_);
  }

 private:
  char* array(std::size_t number) const { return arrays_[number]->slot(0); }

  void copy(Kernel& kernel, const SlotBuffer& buffer, std::size_t set, const Face& face) {
    const void* const message = buffer.slot(0);
    const void* const cells = array(array_of(set));
    const std::uint64_t planes = patch_.planes();
    kernel.launch(threads_for(planes * face.rows * face.columns),
                  {&message, &cells, &face.first, &layout_.pitch, &layout_.plane_pitch, &face.rows,
                   &face.columns, &planes},
                  *exchanges_);
  }

  void give(const Values& values) {
    std::vector<double> all = values.rows;
    all.insert(all.end(), values.columns.begin(), values.columns.end());
    all.insert(all.end(), values.planes.begin(), values.planes.end());
    values_.memory().from_host(values_.slot(0), all.data(), all.size() * sizeof(double));
  }

  Device& device_;
  const std::unique_ptr<Stream> updates_;
  const std::unique_ptr<Stream> exchanges_;
  Program& program_;
  const std::unique_ptr<Kernel> update_;
  const std::unique_ptr<Kernel> pack_;
  const std::unique_ptr<Kernel> unpack_;
  const std::unique_ptr<Kernel> write_;
  const std::unique_ptr<Kernel> find_wrong_;
  SlotBuffer values_;
  const SearchThreads search_;
  std::vector<std::unique_ptr<SlotBuffer>> arrays_;
};

}  // namespace

std::unique_ptr<Fields> fields_on_device(const CaseContext& context, const Patch& patch) {
  return std::make_unique<OnDevice>(context, patch);
}

}  // namespace nearpeak::cosmo
