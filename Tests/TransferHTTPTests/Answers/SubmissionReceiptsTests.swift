import Foundation
import Testing
import TransferModel
import TransferStore
import TransferWire

@testable import TransferHTTP

@Suite struct SubmissionReceiptsTests {
    private static let session = SessionAddress(
        tenant: TenantID(UUID()),
        client: .default,
        identifier: "a/b \"c\" é"
    )

    /// Makes tasks whose identifiers follow each other, of kinds and states in turn.
    private static func submissions(
        _ count: Int,
        _ change: (Int, inout TaskSubmission) -> Void = { _, _ in }
    ) -> [TaskSubmission] {
        UUID.consecutiveVersion7(count: count).enumerated().map { index, id in
            var submission = TaskSubmission(
                id: TaskID(id),
                url: "http://a.example/\(index)",
                hostKey: HostKey(rawValue: 1)
            )
            change(index, &submission)
            return submission
        }
    }

    /// Returns the body as the encoder makes it of each receipt.
    private static func encoded(
        _ submissions: [TaskSubmission],
        _ state: (Int) -> String
    ) throws -> [UInt8] {
        let items = submissions.enumerated().map { index, submission in
            TaskReceipt(
                id: submission.id.description,
                kind: submission.request.kind.rawValue,
                clientPersistedString: submission.clientString?.string,
                sessionIdentifier: session.identifier,
                state: state(index),
                location: APIPath.task(submission.id.description)
            )
        }
        return try WireEncoder.encode(BatchReceipt(items: items))
    }

    private static func restored(_ receipts: SubmissionReceipts) throws -> SubmissionReceipts? {
        try SubmissionReceipts(kept: #require(try receipts.kept()))
    }

    @Test func tasksThatDifferOnlyInTheirURLsTakeNoRoom() throws {
        let submissions = Self.submissions(1000)
        let receipts = SubmissionReceipts(of: submissions, as: .batch, in: Self.session)
        #expect(try receipts.body() == Self.encoded(submissions) { _ in "queued" })
        #expect(try #require(try receipts.kept()).count < 300)
        #expect(try Self.restored(receipts)?.body() == receipts.body())
    }

    /// What ends a run comes alone and together: kind, state, client string, identifier.
    @Test func whateverDiffersIsKept() throws {
        var submissions = Self.submissions(64) { index, submission in
            // Neighbours differ in one.
            let mixture = index ^ index >> 1
            if mixture & 1 != 0 { submission.clientString = ClientString("\(index)\0\"é\u{2028}") }
            if mixture & 2 != 0 { submission.autostart = false }
            if mixture & 4 != 0 { submission.request = TransferRequest(kind: .data) }
            if mixture & 8 != 0 { submission.earliestBeginAt = .distantFuture }
        }
        submissions.swapAt(40, 50)
        submissions += Self.submissions(2)
        for form in [ReceiptWriter.Form.batch, .lines] {
            let receipts = SubmissionReceipts(of: submissions, as: form, in: Self.session)
            #expect(try Self.restored(receipts)?.body() == receipts.body())
        }
        let receipts = SubmissionReceipts(of: submissions, as: .batch, in: Self.session)
        let body = try Self.encoded(submissions) { index in
            submissions[index].autostart
                ? submissions[index].earliestBeginAt == nil ? "queued" : "scheduled" : "suspended"
        }
        #expect(try receipts.body() == body)
    }

    @Test(arguments: [(1024, true), (1025, false)])
    func longClientStringsAreKeptInTheReceipts(bytes: Int, isKept: Bool) throws {
        let submissions = Self.submissions(256) { _, submission in
            submission.clientString = ClientString(String(repeating: "x", count: bytes))
        }
        let receipts = SubmissionReceipts(of: submissions, as: .lines, in: Self.session)
        #expect(try (receipts.kept() != nil) == isKept)
        let answer = try Answer(receipts, isKept: true)
        #expect(try Answer(replaying: answer.stored).body == answer.body)
    }

    /// What an earlier release has kept is read for a day by the next one.
    @Test func theKeptFormIsThatOfEarlierReleases() throws {
        let kept =
            "\0" + #"{"form":"lines","runs":["#
            + #"{"count":2,"first":"0190A1B2-C3D4-7000-8000-0000000000FF","kind":"download","#
            + #""state":"queued"},{"clientStrings":["a\"b"],"count":1,"#
            + #""first":"0190A1B2-C3D4-7000-8000-000000000101","kind":"data","state":"scheduled"}],"#
            + #""sessionIdentifier":"s"}"#
        let receipts = try #require(try SubmissionReceipts(kept: Array(kept.utf8)))
        let common = #","session_identifier":"s","state":"#
        let id = "0190a1b2-c3d4-7000-8000-000000000"
        let lines = [
            #"{"id":"\#(id)0ff","kind":"download","location":"/v1/tasks/\#(id)0ff"\#(common)"queued"}"#,
            #"{"id":"\#(id)100","kind":"download","location":"/v1/tasks/\#(id)100"\#(common)"queued"}"#,
            #"{"client_persisted_string":"a\"b","id":"\#(id)101","kind":"data","#
                + #""location":"/v1/tasks/\#(id)101"\#(common)"scheduled"}"#,
        ]
        let body = String(decoding: try receipts.body(), as: UTF8.self)
        #expect(body == lines.map { $0 + "\n" }.joined())
        #expect(String(decoding: try #require(try receipts.kept()), as: UTF8.self) == kept)
    }

    @Test func otherAnswersAreNoReceipts() throws {
        for answer in ["", "{}", #"{"items":[]}"#] {
            #expect(try SubmissionReceipts(kept: Array(answer.utf8)) == nil)
        }
    }

    @Test(arguments: [
        ("\"count\":3", "\"count\":4"), ("\"count\":3", "\"count\":-1"),
        ("\"count\":3", "\"count\":0"), ("\"count\":3", "\"count\":9223372036854775807"),
        ("\"runs\"", "\"rans\""), ("batch", "bitch"),
    ])
    func whatIsDamagedIsAnError(part: String, damaged: String) throws {
        let submissions = Self.submissions(3) { index, submission in
            submission.clientString = ClientString("\(index)")
        }
        let receipts = SubmissionReceipts(of: submissions, as: .batch, in: Self.session)
        let text = String(decoding: try #require(try receipts.kept()), as: UTF8.self)
        #expect(text.contains(part))
        let bytes = Array(text.replacing(part, with: damaged).utf8)
        #expect(throws: DecodingError.self) { try SubmissionReceipts(kept: bytes) }
    }
}
