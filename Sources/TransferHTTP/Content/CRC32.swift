/// The checksum of zip and PNG (ISO 3309), over the few bytes of a key.
enum CRC32 {
    /// What each byte adds.
    private static let table: [UInt32] = (0..<256).map { byte in
        (0..<8).reduce(byte) { register, _ in
            register >> 1 ^ (register & 1 == 1 ? 0xEDB8_8320 : 0)
        }
    }

    static func checksum(_ bytes: some Sequence<UInt8>) -> UInt32 {
        let table = Self.table
        return ~bytes.reduce(UInt32.max) { register, byte in
            register >> 8 ^ table[Int(UInt8(truncatingIfNeeded: register) ^ byte)]
        }
    }
}
