# SPDX-License-Identifier: MIT
# What the compiler, the assembler and the linker can do. A kernel is left out (SMB3SIGN_WITHOUT_..., shown by `smb3sign
# cpu`) only where this is a compiler for its processor that cannot build it; for others its file is empty anyway.
include(CheckCCompilerFlag)
include(CheckCSourceCompiles)

function(smb3sign_probe kernel target intrinsic)
	check_c_source_compiles("
		#if defined(__x86_64__) || defined(__i386__)
		#include <immintrin.h>
		__attribute__((target(\"${target}\"))) __m128i f(__m128i a, __m128i b);
		__attribute__((target(\"${target}\"))) __m128i f(__m128i a, __m128i b) { return ${intrinsic}; }
		#endif
		int main(void) { return 0; }" SMB3SIGN_BUILDS_${kernel})
	if(NOT SMB3SIGN_BUILDS_${kernel})
		list(APPEND smb3sign_left_out SMB3SIGN_WITHOUT_${kernel})
		set(smb3sign_left_out ${smb3sign_left_out} PARENT_SCOPE)
	endif()
endfunction()

set(smb3sign_left_out)
smb3sign_probe(SSSE3 "ssse3" "_mm_shuffle_epi8(a, b)")
smb3sign_probe(AES_NI "aes,sse4.1" "_mm_aesenc_si128(a, b)")
smb3sign_probe(PCLMUL "aes,pclmul,sse4.1" "_mm_clmulepi64_si128(a, b, 16)")
smb3sign_probe(VPCLMUL "avx2,vpclmulqdq" "_mm256_castsi256_si128(_mm256_clmulepi64_epi128(_mm256_set_m128i(a, b), _mm256_set_m128i(b, a), 16))")
smb3sign_probe(AVX512 "avx512f,avx512bw,avx512vl,vpclmulqdq" "_mm512_castsi512_si128(_mm512_clmulepi64_epi128(_mm512_broadcast_i32x4(a), _mm512_maskz_loadu_epi8(7, &b), 16))")
smb3sign_probe(SHA_NI "sha,sse4.1" "_mm_sha256msg1_epu32(a, b)")
smb3sign_probe(SHA256_AVX512 "avx2,bmi2,avx512f,avx512bw,avx512vl" "_mm256_castsi256_si128(_mm256_ternarylogic_epi32(_mm256_ror_epi32(_mm256_set_m128i(a, b), 7), _mm256_set_m128i(b, a), _mm256_set1_epi32(1), 0x96))")
smb3sign_probe(SHA256_AVX2 "avx2,bmi2" "_mm_add_epi32(_mm256_extracti128_si256(_mm256_set_m128i(a, b), 1), _mm_set1_epi32((int)_pext_u32(1, 2)))")

# An arm64 compiler may need a flag for a kernel's instructions, which goes to that kernel's files alone (SMB3SIGN_FLAGS_...
# tells the rest of them); not if it takes them as it is, as Apple's does, or by what stands in CMAKE_C_FLAGS.
function(smb3sign_probe_arm64 kernels march intrinsic)
	set(source "
		#if defined(__aarch64__) && defined(__GNUC__) && !defined(__AARCH64EB__)
		#include <arm_neon.h>
		uint64x2_t f(uint64x2_t a, uint64x2_t b);
		uint64x2_t f(uint64x2_t a, uint64x2_t b) { return ${intrinsic}; }
		#endif
		int main(void) { return 0; }")
	check_c_source_compiles("${source}" SMB3SIGN_BUILDS_${kernels})
	if(NOT SMB3SIGN_BUILDS_${kernels})
		set(CMAKE_REQUIRED_FLAGS -march=${march})
		check_c_source_compiles("${source}" SMB3SIGN_BUILDS_${kernels}_WITH_FLAGS)
		unset(CMAKE_REQUIRED_FLAGS)
		if(SMB3SIGN_BUILDS_${kernels}_WITH_FLAGS)
			set(smb3sign_flagged ${smb3sign_flagged} SMB3SIGN_FLAGS_${kernels} PARENT_SCOPE)
			set_property(SOURCE ${ARGN} PROPERTY COMPILE_OPTIONS -march=${march})
		else()
			set(smb3sign_left_out ${smb3sign_left_out} SMB3SIGN_WITHOUT_${kernels} PARENT_SCOPE)
		endif()
	endif()
endfunction()

set(smb3sign_flagged)
smb3sign_probe_arm64(ARM64_CE armv8-a+crypto "vaddq_u64(vreinterpretq_u64_u8(vaeseq_u8(vreinterpretq_u8_u64(a), vreinterpretq_u8_u64(b))), vreinterpretq_u64_u32(vsha256su0q_u32(vreinterpretq_u32_u64(a), vreinterpretq_u32_u64(b))))"
	src/arch/arm64/aes_ce_lanes.c src/arch/arm64/sha256_ce_lanes.c
	src/arch/arm64/aes_ce.c src/arch/arm64/ghash_pmull.c src/arch/arm64/sha256_ce.c)
smb3sign_probe_arm64(ARM64_SHA3 armv8.2-a+crypto+sha3 "vsha512su0q_u64(veor3q_u64(a, b, a), b)"
	src/arch/arm64/ghash_pmull_eor3.c src/arch/arm64/sha512_ce.c)

# With a map of no names: linkers disagree about names that are not there.
file(WRITE ${CMAKE_BINARY_DIR}/probe.map "{ local: *; };\n")
set(CMAKE_REQUIRED_FLAGS "-Wl,--version-script=${CMAKE_BINARY_DIR}/probe.map")
check_c_source_compiles("int main(void) { return 0; }" smb3sign_version_script)
unset(CMAKE_REQUIRED_FLAGS)
if(BUILD_SHARED_LIBS AND NOT smb3sign_version_script)
	message(STATUS "smb3sign: this linker knows no version scripts: symbols will have no version")
endif()
