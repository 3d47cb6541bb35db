import Foundation
import HTTPTypes
import Hummingbird
import StandardWebhooks
import TransferClient
import TransferWire

/// The code of `docs/clients.md`, which ``GuideTests`` finds here.
enum GuideCode {
    static func log(_ line: String) {}
    static func place(of description: String?) -> URL { URL(filePath: description ?? "") }

    static func download() async throws {
        let service = try TransferService()  // TRANSFERD_URL and TRANSFERD_API_KEY
        let session = TransferSession(
            configuration: .background(withIdentifier: "photos"),
            service: service
        )
        let task = session.downloadTask(with: "https://example.com/photo.jpg")
        task.taskDescription = "album 1, photo 1"
        task.resume()
        try await task.result().moveFile(to: URL(filePath: "photo.jpg"))
    }

    static func reconnect(_ session: TransferSession) async throws {
        for found in try await session.reconnect(owner: "worker-1") {
            switch found {
            case .success(let task):
                try await task.result().moveFile(to: place(of: task.taskDescription))
                try await task.remove()
            case .failure(let error):
                log("\(error.taskIdentifier): \(error.kind.rawValue)")
            }
        }
    }

    final class Downloads: TransferSessionDelegate {
        func urlSession(
            _ session: TransferSession,
            downloadTask: TransferTask,
            didFinishDownloading result: TransferResult
        ) async {
            log("\(downloadTask.taskDescription ?? "") has arrived")
        }

        func urlSession(
            _ session: TransferSession,
            task: TransferTask,
            didCompleteWithError error: TransferError?
        ) async {
            if let error { log("\(error)") }
        }

        func urlSessionDidFinishEvents(forBackgroundURLSession session: TransferSession) async {
            log("all of it has been dealt with")
        }
    }

    static func follow(_ session: TransferSession) async throws {
        for try await event in session.events {
            switch event.kind {
            case .task(.failed, let task): log("\(task.id): \(task.error?.message ?? "")")
            case .eventsFinished(let outcome): log("\(outcome.completed) completed")
            default: continue
            }
        }
    }

    static func receive(_ router: Router<BasicRequestContext>, _ secret: SigningSecret) {
        let handler = WebhookHandler(secrets: [secret]) { event in
            switch event {
            case .finished(_, let outcome, _):
                log("\(outcome.completed) completed, \(outcome.failed) failed")
            case .event(let event): log(event.message.type)
            case .test: log("the subscription works")
            }
            return .done
        }
        router.post("/hooks") { request, _ in
            let body = try await request.body.collect(upTo: 1 << 20)
            let outcome = await handler.handle(
                headers: request.headers.map { ($0.name.canonicalName, $0.value) },
                body: Array(body.readableBytesView)
            )
            return HTTPResponse.Status(code: outcome.status)
        }
    }

    static func read(_ task: TransferTask) async throws {
        do {
            _ = try await task.result()
        } catch {
            log("\(error.code.rawValue): \(error.message)")
            for fault in error.faults { log("at \(fault.pointer ?? ""): \(fault.detail)") }
        }
    }
}
