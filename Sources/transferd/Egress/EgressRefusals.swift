import Foundation
import Logging
import ServiceLifecycle
import Synchronization
import TransferModel
import TransferStore

/// The service that records in the audit log which hosts tenants were refused: for each tenant and
/// host an entry a minute, with the number of requests.
final class EgressRefusals: Service {
    private struct Subject: Hashable {
        let tenant: UUID?
        let host: String
    }

    private static let interval: Duration = .seconds(60)
    /// The most subjects of a minute; others are counted together.
    static let subjectsMax = 1000
    private static let others = "other hosts"

    private let counts = Mutex<[Subject: Int]>([:])
    private let store: AuditStore
    private let logger: Logger

    init(_ store: AuditStore, logger: Logger) {
        self.store = store
        self.logger = logger
    }

    /// Counts a request that was refused.
    func note(_ host: String, for tenant: UUID?) {
        counts.withLock { counts in
            var subject = Subject(tenant: tenant, host: host.lowercased())
            if counts[subject] == nil, counts.count >= Self.subjectsMax {
                subject = Subject(tenant: nil, host: Self.others)
            }
            counts[subject, default: 0] += 1
        }
    }

    /// Returns the entries of what was counted, and counts from zero again.
    func take() -> [AuditEntry] {
        let counts = counts.withLock { counts in
            defer { counts = [:] }
            return counts
        }
        return counts.map { subject, count in
            AuditEntry(
                tenant: subject.tenant.map(TenantID.init),
                action: "egress refused",
                // A long name must not take the number's place.
                object: "\(count) to \(subject.host)",
                code: TransferFailure.Code.egressDenied.rawValue
            )
        }
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                do { try await Task.sleep(for: Self.interval) } catch { return }
                await self.record()
            }
        }
        await record()
    }

    private func record() async {
        let entries = take()
        guard !entries.isEmpty else { return }
        do throws(StoreError) {
            try await store.record(entries)
        } catch {
            // The log of the service has them then.
            for entry in entries {
                logger.warning("egress refused", metadata: ["requests": "\(entry.object)"])
            }
        }
    }
}
