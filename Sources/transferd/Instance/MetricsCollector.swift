import Curl
import Foundation
import Logging
import Postgres
import Synchronization
import TransferContainer
import TransferEngine
import TransferHTTP
import TransferMetrics
import TransferModel
import TransferStore
import TransferWebhooks

/// The collection of this instance's metrics from its parts, whenever somebody asks.
///
/// The figures of the whole service are read from the database at most every five seconds, for all
/// who ask, and are left out as long as it does not answer.
final class MetricsCollector: Sendable {
    /// The parts that exist only once the instance has started.
    struct Parts: Sendable {
        let fleet: FleetStore
        let pool: ConnectionPool
        let container: Container?
        let engine: TransferEngine?
        let deliveries: DeliveryCounters?
    }

    private struct State {
        var parts: Parts?
        var figures: FleetFigures?
        var readAt: ContinuousClock.Instant?
        var isReading = false
    }

    /// The time for which figures of the service are told again.
    private static let figuresAge: Duration = .seconds(5)
    /// The age at which they are not told any more.
    private static let figuresAgeMax: Duration = .seconds(30)

    private let monitor: HealthMonitor
    private let connections: ConnectionRegistry
    /// Counts the requests that the instance answers.
    let requests = RequestCounters()
    private let logger: Logger
    private let startedAt = Date()
    private let state = Mutex(State())

    init(
        monitor: HealthMonitor,
        connections: ConnectionRegistry,
        logger: Logger
    ) {
        self.monitor = monitor
        self.connections = connections
        self.logger = logger
    }

    /// Begins to tell of the parts.
    func tell(of parts: Parts) { state.withLock { $0.parts = parts } }

    /// Returns the metrics at this moment.
    ///
    /// Figures of the service that are too old are read beside the answer, which does not wait for
    /// the database: the next one has them.
    func samples() -> [MetricSample] {
        let (parts, figures, isDue) = state.withLock { state in
            let age = state.readAt.map { ContinuousClock.now - $0 }
            let isDue =
                state.parts != nil && !state.isReading
                && (age.map { $0 >= Self.figuresAge } ?? true)
            if isDue { state.isReading = true }
            let isFresh = age.map { $0 < Self.figuresAgeMax } ?? false
            return (state.parts, isFresh ? state.figures : nil, isDue)
        }
        if isDue, let parts {
            // Not structured: the answer does not wait for it.
            Task { await read(parts.fleet) }
        }
        return ownSamples() + (parts.map { samples(of: $0) } ?? [])
            + (figures.map { samples(of: $0) } ?? []) + processSamples()
    }

    private func read(_ fleet: FleetStore) async {
        let figures: FleetFigures?
        do {
            figures = try await fleet.figures()
        } catch {
            logger.debug("figures not read", metadata: ["error": "\(error)"])
            figures = nil
        }
        state.withLock { state in
            state.isReading = false
            guard let figures else { return }
            state.figures = figures
            state.readAt = .now
        }
    }

    private func ownSamples() -> [MetricSample] {
        let (isDatabaseUp, workers) = monitor.database
        var samples = [
            MetricSample(.build, [([Version.current, CurlLoop.libraryVersion.version], 1)]),
            MetricSample(.uptime, -startedAt.timeIntervalSinceNow),
            MetricSample(.databaseUp, isDatabaseUp ? 1 : 0),
            MetricSample(
                .requests,
                requests.answers.values.map { label, count in
                    ([label.method, label.route, String(label.status)], Double(count))
                }
            ),
            MetricSample(.requestDuration, requests.durations.value),
            MetricSample(.connections, Double(connections.count)),
        ]
        if let workers { samples.append(MetricSample(.workers, Double(workers))) }
        if let difference = monitor.clockDifference {
            samples.append(MetricSample(.clockDifference, difference))
        }
        return samples
    }

    private func samples(of parts: Parts) -> [MetricSample] {
        let (open, used, waiters) = parts.pool.usage
        var samples = [
            MetricSample(
                .poolConnections,
                [(["idle"], Double(open - used)), (["used"], Double(used))]
            ),
            MetricSample(.poolWaiters, Double(waiters)),
            shortages(of: parts.engine),
        ]
        if let engine = parts.engine { samples += self.samples(of: engine) }
        if let deliveries = parts.deliveries {
            samples += [
                MetricSample(
                    .deliveries,
                    deliveries.tries.values.map { ([$0.rawValue], Double($1)) }
                ),
                MetricSample(.deliveryDuration, deliveries.durations.value),
            ]
        }
        if let container = parts.container {
            do throws(StorageError) {
                let space = try container.space()
                samples += [
                    MetricSample(.bytesFree, Double(space.free)),
                    MetricSample(.bytesTotal, Double(space.total)),
                ]
            } catch {
                logger.debug("space not read", metadata: ["error": "\(error)"])
            }
        }
        return samples
    }

    private func shortages(of engine: TransferEngine?) -> MetricSample {
        var numbers: [(labels: [String], number: Double)] = [
            (["database_full"], monitor.isDatabaseFull ? 1 : 0)
        ]
        if let engine {
            let short = Set(engine.shortages.current)
            for shortage in Shortage.allCases {
                numbers.append(([shortage.rawValue], short.contains(shortage) ? 1 : 0))
            }
        }
        return MetricSample(.shortages, numbers)
    }

    private func samples(of engine: TransferEngine) -> [MetricSample] {
        [
            MetricSample(
                .attempts,
                engine.attempts.ends.values.map { label, count in
                    ([label.outcome, label.code?.rawValue ?? ""], Double(count))
                }
            ),
            MetricSample(
                .attemptBytes,
                engine.attempts.bytes.values.map { ([$0.rawValue], Double($1)) }
            ),
            MetricSample(.attemptDuration, engine.attempts.durations.value),
            MetricSample(.attemptsRunning, Double(engine.runningCount)),
        ]
    }

    private func samples(of figures: FleetFigures) -> [MetricSample] {
        [
            MetricSample(
                .tasks,
                TransferState.allCases.map { ([$0.rawValue], Double(figures.tasks[$0] ?? 0)) }
            ),
            MetricSample(.deliveriesDue, Double(figures.deliveriesDue)),
            MetricSample(.deliveryLag, figures.deliveryLag / .seconds(1)),
            MetricSample(.timerLag, figures.timerLag / .seconds(1)),
            MetricSample(.failingSubscriptions, Double(figures.subscriptionsFailing)),
        ]
    }

    private func processSamples() -> [MetricSample] {
        let process = ProcessFigures()
        var samples = [
            MetricSample(.processorTime, process.processorSeconds),
            MetricSample(.startTime, startedAt.timeIntervalSince1970),
        ]
        if let bytes = process.residentMemory {
            samples.append(MetricSample(.residentMemory, Double(bytes)))
        }
        if let count = process.descriptorCount {
            samples.append(MetricSample(.openDescriptors, Double(count)))
        }
        return samples
    }
}
