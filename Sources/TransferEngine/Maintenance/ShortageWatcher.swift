import Logging
import TransferModel

/// The watch over shortages on this machine, which end no task.
struct ShortageWatcher {
    let shortages: Shortages
    let files: ResultFiles
    let signal: QueueSignal
    let logger: Logger

    /// Probes each shortage, and has claiming resume once there is enough.
    func run() async {
        var told: [Shortage] = []
        while !Task.isCancelled {
            if let next = shortages.due().next {
                do { try await Task.sleep(for: next) } catch { return }
            } else {
                await shortages.wait()
            }
            for shortage in shortages.due().now {
                shortages.probed(shortage, isOver: await files.isOver(shortage))
            }
            let current = shortages.confirmed
            guard current != told else { continue }
            told = current
            if current.isEmpty {
                logger.notice("shortage over, claiming again")
                signal.added()
            } else {
                logger.warning(
                    "shortage, claiming nothing",
                    metadata: ["shortages": "\(current.map(\.rawValue).joined(separator: " "))"]
                )
            }
        }
    }
}
