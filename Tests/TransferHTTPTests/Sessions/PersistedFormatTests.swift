import Foundation
import Testing
import TransferModel

@testable import TransferHTTP

@Suite struct PersistedFormatTests {
    /// As many as a client string can hold; to compare them would take a second each time.
    private static let marks = "a" + String(repeating: "\u{300}\u{323}", count: 16_000)
    private static let format = PersistedFormat(version: 2, kinds: ["photo", "thumb"])

    @Test(
        arguments: [
            (#"{"version": 2, "kind": "photo"}"#, nil),
            (#"{"kind": "thumb", "version": 2, "path": "/a", "more": [1, {}]}"#, nil),
            (#"{"version": 1, "kind": "photo"}"#, .versionMismatch),
            (#"{"version": 3, "kind": "video"}"#, .versionMismatch),
            (#"{"version": 2, "kind": "video"}"#, .missingReconnectionCase),
            (#"{"version": 2, "kind": "Photo"}"#, .missingReconnectionCase),
            ("", .badPersistedFormat), ("photo", .badPersistedFormat),
            ("[]", .badPersistedFormat), ("null", .badPersistedFormat),
            (#"{"version": 2}"#, .badPersistedFormat),
            (#"{"kind": "photo"}"#, .badPersistedFormat),
            (#"{"version": "2", "kind": "photo"}"#, .badPersistedFormat),
            (#"{"version": 2.5, "kind": "photo"}"#, .badPersistedFormat),
            (#"{"version": 2, "kind": 7}"#, .badPersistedFormat),
            (#"{"version": 2, "kind": "photo"} x"#, .badPersistedFormat),
            (String(repeating: "[", count: 65_000), .badPersistedFormat),
            (#"{"version": 2, "kind": "photo", "\#(marks)": 0}"#, .badPersistedFormat),
            (#"{"version": 2, "kind": "\#(marks)"}"#, .missingReconnectionCase),
        ] as [(String, ReconnectionError?)]
    )
    func tellsWhatIsWrong(text: String, error: ReconnectionError?) throws {
        let clientString = try #require(ClientString(text))
        #expect(Self.format.error(in: clientString) == error)
    }

    @Test func aTaskThatCannotBeReadIsUnknown() {
        let item = Reconnection.Item(id: TaskID(UUID()), task: nil)
        guard case .failure(.unknown) = item.result(in: nil) else {
            Issue.record("\(item)")
            return
        }
    }
}
