import Logging
import ServiceLifecycle
import Synchronization
import TransferHTTP

/// The service that reads the API's certificate again when its files change, and upon SIGHUP.
final class CertificateWatch: Service {
    private static let interval: Duration = .seconds(5)

    let certificate: ServerCertificate
    /// The signals SIGHUP of this process.
    let hangups: AsyncStream<Void>
    let logger: Logger

    /// The last error that was logged; nil after the files were read.
    private let told = Mutex<String?>(nil)

    init(certificate: ServerCertificate, hangups: AsyncStream<Void>, logger: Logger) {
        self.certificate = certificate
        self.hangups = hangups
        self.logger = logger
    }

    func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for await _ in self.hangups.cancelOnGracefulShutdown() {
                    self.reload(always: true)
                }
            }
            group.addTask {
                while true {
                    do { try await Task.sleep(for: Self.interval) } catch { return }
                    self.reload(always: false)
                }
            }
            // The signals end with the service.
            try await group.next()
            group.cancelAll()
        }
    }

    private func reload(always: Bool) {
        do {
            guard try certificate.reload(always: always) else { return }
            told.withLock { $0 = nil }
            logger.info("certificate read")
        } catch {
            let text = "\(error)"
            let isNews = told.withLock { told in
                defer { told = text }
                return told != text
            }
            // As while somebody replaces one file after the other.
            guard isNews || always else { return }
            logger.error("certificate not read", metadata: ["error": "\(text)"])
        }
    }
}
