import Logging
import TransferModel

/// The handling of shortages on this machine, which end no task.
extension TransferEngine {
    /// Probes each shortage, and has claiming resume once there is enough.
    func watchShortages() async {
        var told: [Shortage] = []
        while !Task.isCancelled {
            if let next = shortages.due().next {
                do { try await Task.sleep(for: next) } catch { return }
            } else {
                await shortages.wait()
            }
            for shortage in shortages.due().now {
                shortages.probed(shortage, isOver: await publisher.probe(shortage))
            }
            let current = shortages.current
            guard current != told else { continue }
            told = current
            if current.isEmpty {
                logger.notice("no longer short of what tasks need")
                claimer.look()
            } else {
                logger.warning(
                    "short of what tasks need, and claims none",
                    metadata: ["shortages": "\(current.map(\.rawValue).joined(separator: " "))"]
                )
            }
        }
    }
}
