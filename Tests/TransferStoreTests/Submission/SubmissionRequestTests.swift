import Foundation
import Testing
import TransferModel

@testable import TransferStore

@Suite struct SubmissionRequestTests {
    /// A field that is not counted would let a group of requests grow beyond its bound.
    @Test func whateverMayBeLongCounts() {
        let long = String(repeating: "x", count: 10_000)
        let header = HTTPHeader(name: "X", value: long)
        let changes: [(inout TaskSubmission) -> Void] = [
            { $0.url = long },
            { $0.headers = [header] },
            { $0.clientString = ClientString(long) },
            { $0.options.mirrors = [long] },
            { $0.request = TransferRequest(upload: .data(Array(long.utf8))) },
            { $0.request = TransferRequest(upload: .copy(.remote(url: long, headers: []))) },
            { $0.request = TransferRequest(upload: .copy(.remote(url: "", headers: [header]))) },
        ]
        for change in changes {
            let request = SubmissionRequest(
                submissions: StoreFixture.submissions(2) { submission, _ in change(&submission) },
                session: SessionKey(
                    tenant: TenantID(UUID()),
                    client: .default,
                    identifier: StoreFixture.identifier
                ),
                idempotency: nil,
                lease: nil
            )
            #expect(request.size.taskCount == 2)
            #expect((20_000..<20_200).contains(request.size.byteCount))
        }
    }
}
