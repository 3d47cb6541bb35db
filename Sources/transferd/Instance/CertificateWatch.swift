import Logging
import ServiceLifecycle
import TransferHTTP
import UnixSignals

/// The service that reads the API's certificate again when its files change, and upon SIGHUP.
struct CertificateWatch: Service {
    private static let interval: Duration = .seconds(5)

    let certificate: ServerCertificate
    let logger: Logger

    func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for await _ in await UnixSignalsSequence(trapping: .sighup)
                    .cancelOnGracefulShutdown()
                {
                    reload(always: true)
                }
            }
            group.addTask {
                while true {
                    do { try await Task.sleep(for: Self.interval) } catch { return }
                    reload(always: false)
                }
            }
            // The signals end with the service.
            try await group.next()
            group.cancelAll()
        }
    }

    private func reload(always: Bool) {
        do {
            if try certificate.reload(always: always) { logger.info("certificate read") }
        } catch {
            // As while somebody replaces one file after the other.
            logger.error("certificate not read", metadata: ["error": "\(error)"])
        }
    }
}
