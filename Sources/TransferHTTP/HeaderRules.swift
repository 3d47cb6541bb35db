import TransferModel
import TransferWire

/// Which header fields a client may add to its transfers.
enum HeaderRules {
    static let countMax = 64
    /// Bytes of one value and of one name.
    static let valueBytesMax = 8 * 1024
    static let nameBytesMax = 256

    /// Fields that frame the message, belong to one connection or would break resuming.
    private static let forbidden: Set<String> = [
        "host", "content-length", "transfer-encoding", "connection", "keep-alive", "te", "trailer",
        "upgrade", "expect", "range", "if-range", "accept-encoding", "http2-settings",
    ]
    private static let forbiddenPrefix = "proxy-"

    /// The fields in order of name, with everything that is wrong with them.
    static func validate(
        _ fields: [String: String],
        at pointer: String,
        into errors: inout [FieldError]
    ) -> [HTTPHeader] {
        guard fields.count <= countMax else {
            errors.append(
                FieldError(
                    pointer: pointer,
                    .tooManyHeaders,
                    "At most \(countMax) headers are sent."
                )
            )
            return []
        }
        var names: Set<String> = []
        let sorted = fields.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
        for (name, value) in sorted {
            let lowercased = name.lowercased()
            if let (code, detail) = fault(name: name, lowercased: lowercased, value: value) {
                let place = "\(pointer)/\(JSONPointer.escaped(name))"
                errors.append(FieldError(pointer: place, code, detail))
            } else if !names.insert(lowercased).inserted {
                let place = "\(pointer)/\(JSONPointer.escaped(name))"
                errors.append(
                    FieldError(
                        pointer: place,
                        .invalidHeader,
                        "Is there already, but for the case of its letters."
                    )
                )
            }
        }
        return sorted.map { HTTPHeader(name: $0.key, value: $0.value) }
    }

    private static func fault(
        name: String,
        lowercased: String,
        value: String
    ) -> (FieldError.Code, String)? {
        guard (1...nameBytesMax).contains(name.utf8.count), name.utf8.allSatisfy(isTokenByte) else {
            return (.invalidHeader, "The name must be a token (RFC 9110 §5.6.2).")
        }
        guard !forbidden.contains(lowercased), !lowercased.hasPrefix(forbiddenPrefix) else {
            return (.forbiddenHeader, "The service sets this header itself.")
        }
        let utf8 = value.utf8
        guard utf8.count <= valueBytesMax else {
            return (.invalidHeader, "The value may have \(valueBytesMax) bytes.")
        }
        // RFC 9110 §5.5: no control characters but the tab, and no space at either end.
        let isClean = utf8.allSatisfy { $0 == 0x09 || $0 >= 0x20 && $0 != 0x7F }
        let hasSpace = [utf8.first, utf8.last].contains { [0x09, 0x20].contains($0) }
        guard isClean, !hasSpace else {
            return (
                .invalidHeader,
                "The value must have no control characters and no space at its ends."
            )
        }
        return nil
    }

    /// RFC 9110 §5.6.2.
    static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}
