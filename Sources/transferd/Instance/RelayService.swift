import ServiceLifecycle
import TransferStore

/// Keeps this instance connected to the others until all parts that tell them have stopped.
struct RelayService: Service {
    let relay: SignalRelay

    func run() async throws {
        await cancelWhenGracefulShutdown { await relay.run() }
    }
}
