/// Rendering of places in a JSON text as RFC 6901 pointers.
public enum JSONPointer {
    /// Returns the pointer to the place at `path`.
    public static func rendering(_ path: [any CodingKey]) -> String {
        path.reduce(into: "") { pointer, key in
            pointer += "/" + (index(key) ?? escaped(key.stringValue))
        }
    }

    /// Returns the place in an array that a key stands for; nil for the name of a member, of which
    /// the standard library makes a number too, also of `05` and `+5`.
    private static func index(_ key: any CodingKey) -> String? {
        guard let number = key.intValue.map(String.init) else { return nil }
        return [number, "Index \(number)"].contains(key.stringValue) ? number : nil
    }

    /// Returns one step of a pointer, with escapes for `~` and `/` (RFC 6901 §3).
    public static func escaped(_ step: String) -> String {
        var utf8: [UInt8] = []
        utf8.reserveCapacity(step.utf8.count)
        for byte in step.utf8 {
            switch byte {
            case UInt8(ascii: "~"): utf8 += "~0".utf8
            case UInt8(ascii: "/"): utf8 += "~1".utf8
            default: utf8.append(byte)
            }
        }
        return String(decoding: utf8, as: UTF8.self)
    }
}
