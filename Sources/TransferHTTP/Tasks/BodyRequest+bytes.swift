import Foundation
import TransferModel
import TransferWire

extension BodyRequest {
    /// The type of the bytes, sent unless the task names another; nil when it is not known.
    var contentType: String? {
        if text != nil { return "text/plain; charset=utf-8" }
        if json != nil { return "application/json" }
        return form == nil ? nil : "application/x-www-form-urlencoded"
    }

    /// Returns the bytes to send, and passes what is wrong to `refuse` with its place.
    func bytes(
        _ refuse: (_ place: String, _ detail: String) -> Void
    ) -> [UInt8]? {
        let forms = [base64 != nil, text != nil, json != nil, form != nil]
        guard forms.count(where: \.self) == 1 else {
            refuse("", "Must have exactly one of `base64`, `text`, `json` and `form`.")
            return nil
        }
        guard let bytes = encoded(refuse) else { return nil }
        let bytesMax = TransferRequest.UploadSource.dataBytesMax
        guard bytes.count <= bytesMax else {
            refuse("", "May have \(bytesMax) bytes as it is sent; more can be staged.")
            return nil
        }
        return bytes
    }

    private func encoded(
        _ refuse: (_ place: String, _ detail: String) -> Void
    ) -> [UInt8]? {
        if let base64 {
            guard let data = Data(base64Encoded: base64) else {
                refuse("/base64", "Must be base64.")
                return nil
            }
            return Array(data)
        }
        if let json {
            guard json.isExact else {
                refuse("/json", "Has a number of more than 64 bits; give the JSON as `text`.")
                return nil
            }
            do { return try WireEncoder.encode(json) } catch {
                refuse("/json", "Cannot be encoded.")
                return nil
            }
        }
        if let form {
            let fields = form.map { "\($0.name.formEncoded)=\($0.value.formEncoded)" }
            return Array(fields.joined(separator: "&").utf8)
        }
        return text.map { Array($0.utf8) }
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
    fileprivate var formEncoded: String {
        PercentEncoding.encode(self, allowing: [UInt8(ascii: " "), UInt8(ascii: "*")])
            .replacingOccurrences(of: " ", with: "+")
            .replacingOccurrences(of: "~", with: "%7E")
    }
}
