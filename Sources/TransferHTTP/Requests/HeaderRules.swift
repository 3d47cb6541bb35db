import TransferModel
import TransferWire

/// The rules for header fields that a client may add to its transfers.
enum HeaderRules {
    static let countMax = 64

    /// Returns the fields in order of name, and adds everything that is wrong with them to
    /// `errors`.
    ///
    /// `isReserved` is true of further names, in lower case, that the service sets itself.
    static func validate(
        _ fields: [String: String],
        countMax: Int = countMax,
        isReserved: (String) -> Bool = { _ in false },
        at pointer: String,
        into errors: inout [FieldError]
    ) -> [HTTPHeader] {
        if fields.isEmpty { return [] }
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
            let fault = HTTPHeader.fault(name: name, value: value)
            if let fault = isReserved(lowercased) ? .forbidden : fault {
                let place = "\(pointer)/\(JSONPointer.escaped(name))"
                errors.append(FieldError(pointer: place, fault.code, fault.detail))
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
}

extension HTTPHeader.Fault {
    fileprivate var code: FieldError.Code {
        switch self {
        case .forbidden: .forbiddenHeader
        case .invalidName, .valueTooLong, .invalidValue: .invalidHeader
        }
    }

    fileprivate var detail: String {
        switch self {
        case .invalidName: "The name must be a token (RFC 9110 §5.6.2)."
        case .forbidden: "The service sets this header itself."
        case .valueTooLong: "The value may have at most \(HTTPHeader.valueBytesMax) bytes."
        case .invalidValue:
            "The value must have no control characters and no space at its ends."
        }
    }
}
