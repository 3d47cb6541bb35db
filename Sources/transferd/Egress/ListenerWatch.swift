import Foundation
import Logging
import Postgres
import ServiceLifecycle
import TransferStore

/// The service that tells other instances where this one listens, and learns where they do, so that
/// nobody reaches any of them through this one.
struct ListenerWatch: Service {
    private static let interval: Duration = .seconds(10)
    /// The pause before this process listens.
    private static let startInterval: Duration = .milliseconds(200)

    let store: ListenerStore
    let own: OwnEndpoints
    let logger: Logger
    private let id = UUID()

    init(_ store: ListenerStore, own: OwnEndpoints, logger: Logger) {
        self.store = store
        self.own = own
        self.logger = logger
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                let pause = own.ports.isEmpty ? Self.startInterval : Self.interval
                do { try await Task.sleep(for: pause) } catch { return }
                do throws(StoreError) {
                    try await look()
                } catch {
                    logger.debug("other listeners not known", metadata: ["error": "\(error)"])
                }
            }
        }
    }

    /// Announces this process, once it listens, and learns of others.
    func look() async throws(StoreError) {
        guard let port = own.ports.first else { return }
        let machine = Self.machine
        let others = try await store.announce(
            Listener(
                id: id,
                machine: machine,
                addresses: OwnEndpoints.interfaceAddresses() ?? [],
                port: port
            )
        )
        own.setOthers(
            Set(
                others.filter { $0.machine != machine }.flatMap { other in
                    // The loopback addresses of another machine are not those of this one.
                    other.addresses.filter { !OwnEndpoints.isLocal($0) }
                        .map { ServerAddress(bytes: $0, port: other.port) }
                }
            ),
            onThisMachine: Set(others.filter { $0.machine == machine }.map(\.port))
        )
    }

    /// Names this machine until it is started again, and its network where it has several, as of
    /// containers.
    private static let machine: String = {
        let files = FileManager.default
        let boot = try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)
        let network = try? files.destinationOfSymbolicLink(atPath: "/proc/self/ns/net")
        let name = boot?.trimmingCharacters(in: .whitespacesAndNewlines) ?? UUID().uuidString
        return "\(name) \(network ?? "")"
    }()
}
