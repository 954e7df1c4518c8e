# SPDX-License-Identifier: Apache-2.0
# What is preloaded into applications; part of bench/CMakeLists.txt, whose accelerators the layer has.
# trace/ and layer/ are built for an MPI library, explain/ and queries/ once for all.

if(NEARPEAK_MPI_INCLUDE AND NEARPEAK_MPI_LIBRARY)
  # What `nearpeak trace` preloads. It is not linked with the library, which the launchers and shells
  # that it is loaded into do not have; and it shows no names but those of MPI.
  set(exported ${preload}/calls/exported.map)
  file(GLOB trace_sources CONFIGURE_DEPENDS ${preload}/trace/*.cpp ${preload}/calls/*.cpp)
  get_filename_component(soname ${NEARPEAK_MPI_LIBRARY} NAME)
  if(soname MATCHES "^libmpi_abi")
    set(standard_abi NEARPEAK_STANDARD_ABI)
  endif()
  add_library(nearpeak-trace SHARED ${trace_sources} ${portable_sources})
  target_include_directories(nearpeak-trace PRIVATE ${preload})
  target_include_directories(nearpeak-trace SYSTEM PRIVATE ${NEARPEAK_MPI_INCLUDE})
  target_compile_definitions(nearpeak-trace PRIVATE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX
                             ${standard_abi}
                             NEARPEAK_MPI_SONAME="${soname}")
  set_target_properties(nearpeak-trace PROPERTIES CXX_VISIBILITY_PRESET hidden
                        VISIBILITY_INLINES_HIDDEN ON SKIP_BUILD_RPATH ON)
  set_target_properties(nearpeak-trace PROPERTIES LINK_DEPENDS ${exported})
  target_link_options(nearpeak-trace PRIVATE ${static_runtime} LINKER:--version-script=${exported})

  # dlsym must jump to glibc's, not call it.
  set_source_files_properties(${preload}/calls/lookup.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON
    COMPILE_OPTIONS "-O2;-foptimize-sibling-calls")

  # A function for each call of MPI, which -O1 makes as long as -O3, in half the time.
  set_source_files_properties(${preload}/trace/calls.cpp
    PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-O1>)

  # What `nearpeak layer` preloads, likewise; with the accelerators that others share memory of, which
  # know no MPI: to ccache, where it is used, they are the same for every library.
  file(GLOB shared_sources CONFIGURE_DEPENDS accel/*.cpp accel/cuda/*.cpp accel/gpu/*.cpp
       accel/host/*.cpp accel/kernels/*.cpp payload/*.cpp options/lists.cpp)
  file(GLOB layer_sources CONFIGURE_DEPENDS ${preload}/layer/*/*.cpp ${preload}/calls/*.cpp)
  add_library(nearpeak_layer_core OBJECT EXCLUDE_FROM_ALL ${shared_sources})
  add_library(nearpeak-layer SHARED EXCLUDE_FROM_ALL ${layer_sources} ${portable_sources}
              $<TARGET_OBJECTS:nearpeak_layer_core>)
  target_include_directories(nearpeak-layer PRIVATE ${preload})
  target_include_directories(nearpeak-layer SYSTEM PRIVATE ${NEARPEAK_MPI_INCLUDE})
  target_compile_definitions(nearpeak-layer PRIVATE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX
                             ${standard_abi}
                             NEARPEAK_MPI_SONAME="${soname}")
  foreach(part nearpeak-layer nearpeak_layer_core)
    target_compile_definitions(${part} PRIVATE NEARPEAK_LAYER)
    target_compile_options(${part} PRIVATE -ffunction-sections -fdata-sections
                           $<$<CONFIG:Release>:-O2> $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
    # As in the core.
    set_target_properties(${part} PROPERTIES CXX_VISIBILITY_PRESET hidden
                          VISIBILITY_INLINES_HIDDEN ON POSITION_INDEPENDENT_CODE ON
                          UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endforeach()
  set_target_properties(nearpeak-layer PROPERTIES SKIP_BUILD_RPATH ON LINK_DEPENDS ${exported})
  # Names in the others differ, as in nearpeak-mpi. calls.cpp is the largest by far.
  set(layer_apart intercept/calls collective/numbers protocol/parts protocol/probe protocol/send)
  list(TRANSFORM layer_apart REPLACE "(.+)" "${preload}/layer/\\1.cpp")
  set_source_files_properties(${layer_apart} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  target_link_options(nearpeak-layer PRIVATE ${static_runtime} LINKER:--gc-sections
                      LINKER:--version-script=${exported} LINKER:-z,defs)
endif()

# What `nearpeak explain` preloads, and has the CUDA driver load.
set(explain_exported ${preload}/explain/exported.map)
file(GLOB explain_sources CONFIGURE_DEPENDS ${preload}/explain/*.cpp)
add_library(nearpeak-explain SHARED EXCLUDE_FROM_ALL ${explain_sources} ${portable_sources})
target_include_directories(nearpeak-explain PRIVATE ${preload})
set_target_properties(nearpeak-explain PROPERTIES CXX_VISIBILITY_PRESET hidden
                      VISIBILITY_INLINES_HIDDEN ON LINK_DEPENDS ${explain_exported})
# __COUNTER__, which compilers had long before C has it.
target_compile_options(nearpeak-explain PRIVATE
  $<$<CXX_COMPILER_ID:Clang>:-Wno-unknown-warning-option;-Wno-c2y-extensions>)
# A copy that the compiler makes of a loop would be a call of the copy that stands here.
target_compile_options(nearpeak-explain PRIVATE -fno-builtin)
target_link_options(nearpeak-explain PRIVATE ${static_runtime}
                    LINKER:--version-script=${explain_exported})

# What `nearpeak layer --only-queries` preloads. Its dlsym must jump to glibc's, not call it.
set(queries_exported ${preload}/queries/exported.map)
add_library(nearpeak-queries SHARED EXCLUDE_FROM_ALL ${preload}/queries/queries.cpp)
set_target_properties(nearpeak-queries PROPERTIES CXX_VISIBILITY_PRESET hidden
                      LINK_DEPENDS ${queries_exported})
target_compile_options(nearpeak-queries PRIVATE -O2 -foptimize-sibling-calls)
target_link_options(nearpeak-queries PRIVATE ${static_runtime} LINKER:-Bsymbolic
                    LINKER:--version-script=${queries_exported})

# Of the layer, what needs no MPI; the rest is tested by real launches.
set(preloaded_tested trace/table.cpp layer/copy/devices.cpp layer/copy/sharing.cpp layer/copy/shown_chunks.cpp
    layer/copy/opened_chunks.cpp layer/copy/process.cpp layer/copy/pinned_cache.cpp
    layer/copy/copy_helpers.cpp layer/copy/pieces.cpp layer/copy/host_memory.cpp layer/copy/landing_memory.cpp
    layer/copy/file_server.cpp layer/copy/watch.cpp
    layer/protocol/launched.cpp layer/world/routes.cpp layer/world/settings.cpp
    layer/world/slots.cpp layer/world/slow_sends.cpp)
set(preloaded_ordered layer/world/slots.cpp)  # shared without locks
set(preloaded_ordered_tests tests/calls/handles_test.cpp tests/layer/collective/collective_sync_test.cpp
    tests/layer/world/slots_test.cpp)
foreach(list preloaded_tested preloaded_ordered preloaded_ordered_tests)
  list(TRANSFORM ${list} PREPEND ${preload}/)
endforeach()
