/// C strings or byte strings side by side in one buffer, for functions that take arrays of them.
struct CStringTable {
    private var bytes: [UInt8] = []
    /// The offset of each string; nil stands for a null pointer.
    private var offsets: [Int?] = []

    /// The byte strings that are not copied, with their places; each takes a stack frame.
    private var long: [(place: Int, bytes: [UInt8])] = []

    /// The length from which a byte string is not worth copying.
    private static let longBytes = 64 << 10
    private static let longMax = 16

    /// Appends a byte string, whose length is passed separately.
    mutating func append(_ value: [UInt8]?) {
        guard let value, value.count >= Self.longBytes, long.count < Self.longMax else {
            return copy(value)
        }
        long.append((offsets.count, value))
        offsets.append(nil)
    }

    /// Appends a C string.
    mutating func append(_ value: String) { copy(Array(value.utf8)) }

    private mutating func copy(_ value: [UInt8]?) {
        offsets.append(value == nil ? nil : bytes.count)
        if let value {
            bytes.append(contentsOf: value)
            // A C string ends with NUL; a byte string needs an address even when it is empty.
            bytes.append(0)
        }
    }

    /// Calls `body` with an array of pointers that ends with a null pointer.
    func withPointers<Value>(
        _ body: (UnsafePointer<UnsafePointer<CChar>?>?) -> Value
    ) -> Value {
        unsafe bytes.withUnsafeBufferPointer { buffer in
            unsafe buffer.withMemoryRebound(to: CChar.self) { characters in
                var pointers: [UnsafePointer<CChar>?] = unsafe offsets.map { offset in
                    unsafe offset.flatMap { offset in
                        unsafe characters.baseAddress.map { unsafe $0 + offset }
                    }
                }
                unsafe pointers.append(nil)
                return unsafe Self.with(long[...], in: &pointers, body)
            }
        }
    }

    private static func with<Value>(
        _ long: ArraySlice<(place: Int, bytes: [UInt8])>,
        in pointers: inout [UnsafePointer<CChar>?],
        _ body: (UnsafePointer<UnsafePointer<CChar>?>?) -> Value
    ) -> Value {
        guard let (place, bytes) = long.first else {
            return unsafe pointers.withUnsafeBufferPointer { unsafe body($0.baseAddress) }
        }
        return unsafe bytes.withUnsafeBufferPointer { buffer in
            unsafe buffer.withMemoryRebound(to: CChar.self) { characters in
                unsafe pointers[place] = characters.baseAddress
                return unsafe with(long.dropFirst(), in: &pointers, body)
            }
        }
    }
}
