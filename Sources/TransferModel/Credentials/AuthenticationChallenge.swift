/// A way of authentication that an origin offers (RFC 9110 §11.6.1).
package struct AuthenticationChallenge: Equatable, Sendable {
    /// The scheme as the origin spells it: `Basic`, `Bearer`.
    package let scheme: String
    package let realm: String?

    /// The most challenges taken from one answer.
    package static let countMax = 8
    /// The longest realm kept, in bytes.
    package static let realmBytesMax = 255

    package init(scheme: String, realm: String?) {
        self.scheme = scheme
        self.realm = realm
    }

    /// Returns the challenges in the value of a `WWW-Authenticate` field, as far as it can be read.
    package static func challenges(in value: String) -> [AuthenticationChallenge] {
        var scanner = FieldValueScanner(value)
        var challenges: [AuthenticationChallenge] = []
        var realm: String?
        var scheme: String?
        func finish() {
            guard let scheme, challenges.count < countMax else { return }
            challenges.append(AuthenticationChallenge(scheme: scheme, realm: realm))
        }
        while !scanner.isAtEnd {
            scanner.skipSpace()
            if scanner.take(",") { continue }
            guard let word = scanner.token() else { break }
            let hasSpace = scanner.skipSpace()
            if scheme != nil, scanner.take("=") {
                // A parameter of the current challenge.
                scanner.skipSpace()
                guard let text = scanner.quotedString() ?? scanner.token() else { break }
                if word.lowercased() == "realm", text.utf8.count <= realmBytesMax { realm = text }
                continue
            }
            finish()
            scheme = word
            realm = nil
            // In place of parameters a `token68` may follow (RFC 9110 §11.2).
            if hasSpace, scanner.hasToken68 { scanner.skipToken68() }
        }
        finish()
        return challenges
    }
}

extension FieldValueScanner {
    private static func isToken68Byte(_ byte: UInt8) -> Bool {
        HTTPHeader.isTokenByte(byte) && !"!#$%&'*^`|".utf8.contains(byte)
            || byte == UInt8(ascii: "/")
    }

    /// Whether a `token68` comes next, rather than the name of a parameter.
    fileprivate var hasToken68: Bool {
        var ahead = self
        guard !ahead.take(while: Self.isToken68Byte).isEmpty else { return false }
        _ = ahead.take { $0 == UInt8(ascii: "=") }
        ahead.skipSpace()
        // `name=value` continues after its sign; padding does not.
        return ahead.isAtEnd || ahead.next == UInt8(ascii: ",")
    }

    fileprivate mutating func skipToken68() {
        _ = take(while: Self.isToken68Byte)
        _ = take { $0 == UInt8(ascii: "=") }
    }
}
