/// The checksum of zip and PNG (ISO 3309), over the few bytes of a key.
enum CRC32 {
    static func checksum(_ bytes: some Sequence<UInt8>) -> UInt32 {
        var register = UInt32.max
        for byte in bytes {
            register ^= UInt32(byte)
            for _ in 0..<8 {
                register = register >> 1 ^ (register & 1 == 1 ? 0xEDB8_8320 : 0)
            }
        }
        return ~register
    }
}
