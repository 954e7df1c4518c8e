// SPDX-License-Identifier: Apache-2.0
// What libc++ needs of a compiler's run-time library, where that is left out: zig's has a memcpy, a
// memset and a sqrt of its own, which would take the place of the C library's.
namespace {

__extension__ using Signed = __int128;
__extension__ using Unsigned = unsigned __int128;

// b is not zero.
Unsigned divided(Unsigned a, Unsigned b) {
  Unsigned quotient = 0, rest = 0;
  for (int bit = 127; bit >= 0; --bit) {
    rest = rest << 1 | (a >> bit & 1);
    if (rest >= b) {
      rest -= b;
      quotient |= Unsigned{1} << bit;
    }
  }
  return quotient;
}

Unsigned magnitude(Signed value) {
  return value < 0 ? -static_cast<Unsigned>(value) : static_cast<Unsigned>(value);
}

}  // namespace

// Its name and meaning are those of libgcc.
extern "C" __attribute__((visibility("hidden"))) Signed __divti3(Signed a, Signed b) {
  const Unsigned quotient = divided(magnitude(a), magnitude(b));
  return static_cast<Signed>((a < 0) == (b < 0) ? quotient : -quotient);
}
