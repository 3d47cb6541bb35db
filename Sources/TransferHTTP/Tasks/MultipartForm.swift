import Foundation
import TransferModel
import TransferWire

/// A form of fields and files as browsers send it (RFC 7578; WHATWG HTML, "multipart/form-data").
///
/// Nothing that a client gives can end a line of a part's head: names are escaped, and the type is
/// one of a media type's bytes. Nothing can end a part, because the boundary is chosen afterwards.
struct MultipartForm {
    /// The most parts.
    static let partsMax = 100
    /// The most bytes of a name, a file name or a type.
    static let nameBytesMax = 1024

    /// The head and the content of each part.
    private let parts: [(head: String, bytes: [UInt8])]

    /// Reads the parts, and passes what is wrong to `refuse` with its place.
    ///
    /// - Returns: nil when something is wrong.
    init?(
        _ requests: [BodyRequest.Part],
        _ refuse: (_ place: String, _ detail: String) -> Void
    ) {
        guard (1...Self.partsMax).contains(requests.count) else {
            refuse("", "Must have 1 to \(Self.partsMax) parts.")
            return nil
        }
        var parts: [(head: String, bytes: [UInt8])] = []
        for (index, request) in requests.enumerated() {
            let part = Self.part(request) { refuse("/\(index)\($0)", $1) }
            if let part { parts.append(part) }
        }
        guard parts.count == requests.count else { return nil }
        self.parts = parts
    }

    /// Returns what is sent, with a boundary that is in no part.
    func content(using random: inout some RandomNumberGenerator) -> BodyRequest.Content {
        var boundary: String
        repeat {
            boundary = Self.boundary(using: &random)
        } while parts.contains {
            $0.bytes.contains(Array(boundary.utf8)) || $0.head.contains(boundary)
        }
        var bytes: [UInt8] = []
        for part in parts {
            bytes += "--\(boundary)\r\n\(part.head)\r\n".utf8
            bytes += part.bytes
            bytes += "\r\n".utf8
        }
        bytes += "--\(boundary)--\r\n".utf8
        return BodyRequest.Content(
            bytes: bytes,
            type: "multipart/form-data; boundary=\(boundary)"
        )
    }

    /// Returns 128 random bits in characters that need no quotes (RFC 2046 §5.1.1).
    private static func boundary(using random: inout some RandomNumberGenerator) -> String {
        let digits = (0..<2).map { _ in
            let text = String(UInt64.random(in: .min ... .max, using: &random), radix: 16)
            return String(repeating: "0", count: 16 - text.count) + text
        }
        return "form-\(digits.joined())"
    }

    private static func part(
        _ request: BodyRequest.Part,
        _ refuse: (_ place: String, _ detail: String) -> Void
    ) -> (head: String, bytes: [UInt8])? {
        var isRight = true
        func check(_ text: String?, _ field: String, _ isIt: (String) -> Bool, _ detail: String) {
            guard let text, text.utf8.count > nameBytesMax || !isIt(text) else { return }
            refuse("/\(field)", "\(detail), of at most \(nameBytesMax) bytes.")
            isRight = false
        }
        check(request.name, "name", { !$0.isEmpty }, "Must be a name")
        check(request.filename, "filename", { !$0.isEmpty }, "Must be a name")
        check(
            request.contentType,
            "content_type",
            { MediaType.acceptable($0) == $0 },
            "Must be a media type"
        )
        let bytes: [UInt8]?
        switch (request.text, request.base64) {
        case (let text?, nil): bytes = Array(text.utf8)
        case (nil, let base64?):
            bytes = Data(base64Encoded: base64).map { Array($0) }
            if bytes == nil { refuse("/base64", "Must be base64.") }
        default:
            bytes = nil
            refuse("", "Must have exactly one of `text` and `base64`.")
        }
        guard isRight, let bytes else { return nil }
        return (head(of: request), bytes)
    }

    /// Returns the lines before a part's content.
    private static func head(of request: BodyRequest.Part) -> String {
        var head = "Content-Disposition: form-data; name=\"\(request.name.escapedInForm)\""
        if let filename = request.filename { head += "; filename=\"\(filename.escapedInForm)\"" }
        head += "\r\n"
        if let type = request.contentType ?? defaultType(of: request) {
            head += "Content-Type: \(type)\r\n"
        }
        return head
    }

    /// The type of a part that names none; that of a field is text (RFC 7578 §4.4), in UTF-8 like
    /// all browsers' forms.
    private static func defaultType(of request: BodyRequest.Part) -> String? {
        if request.base64 != nil { return MediaType.unknown }
        return request.filename == nil ? nil : "text/plain; charset=utf-8"
    }
}

extension String {
    /// This text between the quotes of a name: what would end them or the line is escaped as by
    /// browsers (WHATWG HTML, "multipart/form-data encoding algorithm").
    fileprivate var escapedInForm: String {
        var escaped = ""
        for scalar in unicodeScalars {
            switch scalar {
            case "\r": escaped += "%0D"
            case "\n": escaped += "%0A"
            case "\"": escaped += "%22"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
