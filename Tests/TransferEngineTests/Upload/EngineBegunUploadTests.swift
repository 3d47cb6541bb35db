import Foundation
import Testing
import TransferEngine
import TransferModel
import TransferStore
import TransferTestSupport

/// Uploads whose origin has named a resource, after their options have changed.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct EngineBegunUploadTests {
    /// Otherwise the origin would get a second one, of which it may act as of the first.
    @Test(arguments: [nil, ResumableUpload.off, .ietf])
    func aPostGoesOnAsItHasBegun(option: ResumableUpload?) async throws {
        let fixture = try await EngineFixture()
        let origin = try ResumableOrigin(.tus)
        let id = try await fixture.submit(origin.url) {
            $0.request = TransferRequest(method: "POST", upload: .data([1, 2, 3]))
            $0.options.resumableUpload = option
        }
        let worker = WorkerIdentity(
            incarnation: try await fixture.stores.workers.registerWorker(name: "earlier")
        )
        let claim = try #require(try await fixture.stores.queue.claimAny(1, by: worker).first)
        let resource = UploadResource(
            fence: claim.fence,
            dialect: .tus,
            url: origin.server.url("/there"),
            isAtOrigin: true,
            body: "data"
        )
        #expect(try await fixture.stores.uploadResources.keep(resource, of: claim))
        let end = AttemptEnd(task: id, fence: claim.fence, outcome: .released)
        #expect(try await !fixture.stores.completions.end([end]).isEmpty)
        origin.server.when("/there") { request in
            let offset = request.method == "HEAD" ? "1" : "3"
            return .response(
                request.method == "HEAD" ? 200 : 204,
                headers: [("Upload-Offset", offset)]
            )
        }
        let task = try await fixture.withEngine { _ in try await fixture.ended(id) }
        #expect(task.state == .completed)
        #expect(origin.requests.isEmpty)
        let methods = origin.server.log.now.requests(at: "/there").map(\.method)
        #expect(methods == ["HEAD", "PATCH"])
    }
}
