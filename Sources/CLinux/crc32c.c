#include "clinux.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#if defined(__x86_64__)
#include <nmmintrin.h>
#define CRC32C_TARGET __attribute__((target("sse4.2")))
#elif defined(__aarch64__)
#include <sys/auxv.h>
#define CRC32C_TARGET __attribute__((target("crc")))
#endif

// The Castagnoli polynomial, bits reversed (RFC 3720, section 12.1). All functions here work on the
// register: the complement of the value that callers see.
static const uint32_t polynomial = 0x82F63B78;

// table[0] advances the register over one byte, table[n] over that byte and n zero bytes.
static uint32_t table[8][256];

static void make_table(void) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? polynomial : 0);
        table[0][byte] = crc;
    }
    for (int zeros = 1; zeros < 8; zeros++) {
        for (int byte = 0; byte < 256; byte++) {
            uint32_t crc = table[zeros - 1][byte];
            table[zeros][byte] = crc >> 8 ^ table[0][crc & 0xFF];
        }
    }
}

static uint32_t update_by_table(uint32_t crc, const unsigned char *bytes, size_t count) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_table);
    for (; count >= 8; bytes += 8, count -= 8) {
        crc ^= bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16
            | (uint32_t)bytes[3] << 24;
        crc = table[7][crc & 0xFF] ^ table[6][crc >> 8 & 0xFF] ^ table[5][crc >> 16 & 0xFF]
            ^ table[4][crc >> 24] ^ table[3][bytes[4]] ^ table[2][bytes[5]] ^ table[1][bytes[6]]
            ^ table[0][bytes[7]];
    }
    for (; count > 0; bytes++, count--) crc = crc >> 8 ^ table[0][(crc ^ *bytes) & 0xFF];
    return crc;
}

#ifdef CRC32C_TARGET

#if defined(__x86_64__)
static bool has_instruction(void) { return __builtin_cpu_supports("sse4.2"); }
#define crc32c_u8(crc, byte) _mm_crc32_u8(crc, byte)
#define crc32c_u64(crc, word) (uint32_t)_mm_crc32_u64(crc, word)
#else
static bool has_instruction(void) { return getauxval(AT_HWCAP) & HWCAP_CRC32; }
#define crc32c_u8(crc, byte) __builtin_arm_crc32cb(crc, byte)
#define crc32c_u64(crc, word) __builtin_arm_crc32cd(crc, word)
#endif

// The instruction answers after three cycles but can be issued in each one, so three independent
// lanes of this many bytes, joined afterwards, are up to three times as fast as one.
#define LANE 1024

// Advances the register over LANE zero bytes, one of its four bytes each.
static uint32_t over_lane[4][256];

static uint64_t word_at(const unsigned char *bytes) {
    uint64_t word;
    memcpy(&word, bytes, sizeof(word));
    return word;
}

CRC32C_TARGET static void make_over_lane(void) {
    // The step over zeros is linear: what it makes of each single bit gives all the rest.
    uint32_t of_bit[32];
    for (int bit = 0; bit < 32; bit++) {
        uint32_t crc = (uint32_t)1 << bit;
        for (int word = 0; word < LANE / 8; word++) crc = crc32c_u64(crc, 0);
        of_bit[bit] = crc;
    }
    for (int place = 0; place < 4; place++) {
        for (int byte = 0; byte < 256; byte++) {
            uint32_t crc = 0;
            for (int bit = 0; bit < 8; bit++) {
                if (byte >> bit & 1) crc ^= of_bit[8 * place + bit];
            }
            over_lane[place][byte] = crc;
        }
    }
}

static uint32_t advance_over_lane(uint32_t crc) {
    return over_lane[0][crc & 0xFF] ^ over_lane[1][crc >> 8 & 0xFF]
        ^ over_lane[2][crc >> 16 & 0xFF] ^ over_lane[3][crc >> 24];
}

CRC32C_TARGET static uint32_t update_by_instruction(
    uint32_t crc, const unsigned char *bytes, size_t count) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (count >= 3 * LANE) pthread_once(&once, make_over_lane);
    for (; count >= 3 * LANE; bytes += 3 * LANE, count -= 3 * LANE) {
        uint32_t second = 0, third = 0;
        for (size_t offset = 0; offset < LANE; offset += 8) {
            crc = crc32c_u64(crc, word_at(bytes + offset));
            second = crc32c_u64(second, word_at(bytes + LANE + offset));
            third = crc32c_u64(third, word_at(bytes + 2 * LANE + offset));
        }
        crc = advance_over_lane(advance_over_lane(crc) ^ second) ^ third;
    }
    for (; count >= 8; bytes += 8, count -= 8) crc = crc32c_u64(crc, word_at(bytes));
    for (; count > 0; bytes++, count--) crc = crc32c_u8(crc, *bytes);
    return crc;
}

#endif

uint32_t clinux_crc32c(uint32_t crc, const void *bytes, size_t count) {
#ifdef CRC32C_TARGET
    if (has_instruction()) return ~update_by_instruction(~crc, bytes, count);
#endif
    return ~update_by_table(~crc, bytes, count);
}

uint32_t clinux_crc32c_by_table(uint32_t crc, const void *bytes, size_t count) {
    return ~update_by_table(~crc, bytes, count);
}
