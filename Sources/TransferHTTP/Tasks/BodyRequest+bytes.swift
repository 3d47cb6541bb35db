import Foundation
import TransferModel
import TransferWire

extension BodyRequest {
    /// The bytes of a body and what they are.
    struct Content {
        let bytes: [UInt8]
        /// The type of the bytes, sent unless the task names another; nil when it is not known.
        let type: String?
    }

    /// Returns what is sent, and passes what is wrong to `refuse` with its place.
    func content(
        _ refuse: (_ place: String, _ detail: String) -> Void
    ) -> Content? {
        let forms = [base64 != nil, text != nil, json != nil, form != nil, multipart != nil]
        guard forms.count(where: \.self) == 1 else {
            refuse("", "Must have exactly one of `base64`, `text`, `json`, `form` and `multipart`.")
            return nil
        }
        guard let content = encoded(refuse) else { return nil }
        let bytesMax = TransferRequest.UploadSource.dataBytesMax
        guard content.bytes.count <= bytesMax else {
            refuse("", "May have at most \(bytesMax) bytes as it is sent; more can be staged.")
            return nil
        }
        return content
    }

    private func encoded(
        _ refuse: (_ place: String, _ detail: String) -> Void
    ) -> Content? {
        if let base64 {
            guard let data = Data(base64Encoded: base64) else {
                refuse("/base64", "Must be base64.")
                return nil
            }
            return Content(bytes: Array(data), type: nil)
        }
        if let json {
            guard json.isExact else {
                refuse("/json", "Has a number of more than 64 bits; give the JSON as `text`.")
                return nil
            }
            do {
                return Content(bytes: try WireEncoder.encode(json), type: "application/json")
            } catch {
                refuse("/json", "Cannot be encoded.")
                return nil
            }
        }
        if let form {
            let fields = form.map {
                $0.name.formEncoded + [UInt8(ascii: "=")] + $0.value.formEncoded
            }
            return Content(
                bytes: Array(fields.joined(separator: [UInt8(ascii: "&")])),
                type: "application/x-www-form-urlencoded"
            )
        }
        if let multipart {
            let form = MultipartForm(multipart) { refuse("/multipart\($0)", $1) }
            var random = SystemRandomNumberGenerator()
            return form?.content(using: &random)
        }
        return text.map { Content(bytes: Array($0.utf8), type: "text/plain; charset=utf-8") }
    }
}

extension JSONValue {
    /// Whether each number is the one that was written: a whole number that is too large for 64
    /// bits has lost digits.
    fileprivate var isExact: Bool {
        switch self {
        case .null, .bool, .integer, .string: true
        case .number(let number): abs(number) < 0x1p53 || number != number.rounded()
        case .array(let values): values.allSatisfy(\.isExact)
        case .object(let members): members.values.allSatisfy(\.isExact)
        }
    }
}

extension String {
    /// This text as a name or value of a form (WHATWG URL, `application/x-www-form-urlencoded`).
    ///
    /// Byte by byte: to replace in a text of megabytes takes seconds.
    fileprivate var formEncoded: [UInt8] {
        let allowed: Set = [UInt8(ascii: " "), UInt8(ascii: "*")]
        var bytes: [UInt8] = []
        for byte in PercentEncoding.encode(self, allowing: allowed).utf8 {
            switch byte {
            case UInt8(ascii: " "): bytes.append(UInt8(ascii: "+"))
            case UInt8(ascii: "~"): bytes += "%7E".utf8
            default: bytes.append(byte)
            }
        }
        return bytes
    }
}
