package import Foundation

/// A client's statement that it is still working, which delays its suspension for a limited time,
/// as `beginBackgroundTask(withName:expirationHandler:)` does for an app.
package struct Assertion: Equatable, Sendable {
    /// The state of an assertion; the raw value is the one in the API.
    package enum State: String, CaseIterable, Sendable {
        case held
        /// Ended by its client, or with its client.
        case ended
        /// Still held when the time was over; its client was terminated.
        case expired
    }

    package let id: AssertionID
    package let client: ClientID
    package let name: String
    package let state: State
    package let beganAt: Date
    package let endedAt: Date?
    /// The time at which the assertion expires, or did; nil while its client is active.
    package let expiresAt: Date?
    /// The time until then, 0 once it has expired; nil while its client is active, and of an
    /// assertion that was ended.
    package let remaining: Duration?

    /// The time before the expiry at which `assertion.expiring` is written.
    package static let notice: Duration = .seconds(4)
    /// The longest name in bytes.
    package static let nameBytesMax = 255
    /// The rule for names, in words.
    package static let nameRule =
        "Must have 1 to \(nameBytesMax) bytes and no control characters."

    /// Whether `name` may be the name of an assertion.
    package static func isName(_ name: String) -> Bool {
        (1...nameBytesMax).contains(name.utf8.count)
            && name.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f }
    }

    package init(
        id: AssertionID,
        client: ClientID,
        name: String,
        state: State,
        beganAt: Date,
        endedAt: Date?,
        expiresAt: Date?,
        remaining: Duration?
    ) {
        self.id = id
        self.client = client
        self.name = name
        self.state = state
        self.beganAt = beganAt
        self.endedAt = endedAt
        self.expiresAt = expiresAt
        self.remaining = remaining
    }
}
