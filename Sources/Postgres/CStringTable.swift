/// C strings or byte strings side by side in one buffer, for functions that take arrays of them.
struct CStringTable {
    private var bytes: [UInt8] = []
    /// Where each begins; nil stands for a null pointer.
    private var offsets: [Int?] = []

    mutating func append(_ value: [UInt8]?) {
        offsets.append(value == nil ? nil : bytes.count)
        if let value {
            bytes.append(contentsOf: value)
            // A C string ends with NUL; a byte string needs an address even when it is empty.
            bytes.append(0)
        }
    }

    mutating func append(_ value: String) { append(Array(value.utf8)) }

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
                return unsafe pointers.withUnsafeBufferPointer { unsafe body($0.baseAddress) }
            }
        }
    }
}
