import HTTPTypes

/// How long a client is ready to wait for news: `Prefer: wait=N` (RFC 7240, section 4.3).
struct WaitPreference: Sendable {
    /// The longest wait, in seconds; who asks for more gets this.
    static let secondsMax = 60

    let seconds: Int

    /// Nil when there is no such preference, or one of any other form, which is to be ignored.
    init?(_ fields: HTTPFields) {
        for field in fields[values: .prefer] {
            for preference in field.utf8.split(separator: UInt8(ascii: ",")) {
                // What follows a semicolon are parameters, of which there are none.
                let word = String(
                    decoding: preference.prefix { $0 != UInt8(ascii: ";") },
                    as: UTF8.self
                )
                let parts = word.filter { $0 != " " && $0 != "\t" }.lowercased()
                    .split(separator: "=", omittingEmptySubsequences: false)
                guard parts.count == 2, parts[0] == "wait", parts[1].utf8.count <= 9,
                    parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                    let number = Int(parts[1]), number > 0
                else { continue }
                seconds = min(number, Self.secondsMax)
                return
            }
        }
        return nil
    }

    /// The value of `Preference-Applied`.
    var applied: String { "wait=\(seconds)" }
}
