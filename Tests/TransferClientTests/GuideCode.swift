import Foundation
import Hummingbird
import StandardWebhooks
import TransferClient
import TransferHummingbird
import TransferURLSession
import TransferWire

/// The code that the documentation of `TransferClient` shows, which ``GuideTests`` finds here.
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
        router.webhooks("/hooks", handler: handler)
    }

    static func subscribe(_ service: TransferService, _ handler: WebhookHandler) async throws {
        let subscription = try await service.subscribe(
            SubscriptionRequest(url: "https://app.example.com/hooks", sessionIdentifier: "photos")
        )
        let secret = subscription.secret.flatMap(SigningSecret.init(serialized:))
        handler.replaceSecrets(with: secret.map { [$0] } ?? [])
    }

    static func watch(_ session: TransferSession, _ tasks: [TransferTask]) async throws {
        for task in tasks { task.resume() }
        for try await event in session.events {
            log("\(Int(session.progress.fractionCompleted * 100)) %")
            if case .eventsFinished = event.kind { break }
        }
    }

    static func choose(_ key: String) -> TransferService {
        let service = TransferService(
            url: "https://transfers.example.com",
            apiKey: key,
            transport: URLSessionTransport.shared
        )
        return service
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
