import HTTPTypes

/// The time that a client is ready to wait for news: `Prefer: wait=N` (RFC 7240, section 4.3).
struct WaitPreference: Sendable {
    /// The maximum wait in seconds, which also replaces any longer one.
    static let secondsMax = 60

    let seconds: Int

    /// Reads the preference, or returns nil when there is none, or one of another form, which is to
    /// be ignored.
    init?(_ fields: HTTPFields) {
        for field in fields[values: .prefer] {
            for preference in field.utf8.split(separator: UInt8(ascii: ",")) {
                // A semicolon begins parameters, of which this preference has none.
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
