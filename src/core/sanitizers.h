// SPDX-License-Identifier: MIT
#pragma once

namespace lanner {

/// Whether a sanitizer keeps the memory in place of the C library: GCC says so by macros, clang by features.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitizedMemory = true;
#elif !defined(__has_feature)
inline constexpr bool kSanitizedMemory = false;
#else
inline constexpr bool kSanitizedMemory = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#endif

}  // namespace lanner
