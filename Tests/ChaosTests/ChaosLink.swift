import FaultProxy
import Synchronization

/// A network between two programs that can be cut and slowed while they use it.
final class ChaosLink: Sendable {
    private final class Weather: Sendable {
        let faults = Mutex(Faults())
    }

    private let proxy: FaultProxy
    private let weather: Weather

    /// The port to connect to.
    var port: UInt16 { proxy.port }

    /// Makes a link to a port of this machine.
    init(to port: UInt16) throws {
        let weather = Weather()
        self.weather = weather
        proxy = try FaultProxy(to: port) { _ in weather.faults.withLock { $0 } }
    }

    /// Makes a link to a Unix socket.
    init(toSocket path: String) throws {
        let weather = Weather()
        self.weather = weather
        proxy = try FaultProxy(to: .socket(path)) { _ in weather.faults.withLock { $0 } }
    }

    deinit { proxy.stop() }

    /// Ends all connections; further ones end as soon as the other end answers.
    func cut() { change(.down(.reset(after: 0))) }

    /// Ends all connections; further ones are slow.
    func slow(delay: Duration, rate: Int64) { change(.slow(delay: delay, rate: rate)) }

    /// Ends all affected connections; further ones pass unchanged.
    func mend() { change(Faults()) }

    private func change(_ faults: Faults) {
        weather.faults.withLock { $0 = faults }
        proxy.breakConnections()
    }
}
