import Logging
import ServiceLifecycle
import TransferModel
import TransferSecrets
import TransferStore

/// The service that says with which key this instance seals, and tells the log when others seal
/// with keys that it lacks.
struct SecretsKeyWatch: Service {
    /// The pause between two messages.
    private static let interval: Duration = .seconds(5)

    let box: SecretBox?
    let store: SecretsKeyStore
    let logger: Logger

    func run() async throws {
        await cancelWhenGracefulShutdown { await watch() }
    }

    private func watch() async {
        var missing: [[UInt8]] = []
        while !Task.isCancelled {
            do { try await Task.sleep(for: Self.interval) } catch { return }
            do throws(StoreError) {
                if let name = box?.sealingKeyName { try await store.renewUse(of: name) }
                let now = try await store.use(nil, among: box?.keyNames ?? [])
                if now != missing { tell(of: now) }
                missing = now
            } catch {
                // Others tell that the database is away.
                continue
            }
        }
    }

    private func tell(of missing: [[UInt8]]) {
        guard !missing.isEmpty else {
            return logger.notice("this instance has all keys for secrets again")
        }
        let names = missing.map(\.hexadecimal).joined(separator: ", ")
        logger.error(
            """
            this instance lacks keys for secrets, and what is sealed with them waits: add the keys \
            to its file and restart it
            """,
            metadata: ["sha256_starts_with": "\(names)"]
        )
    }
}
