import Foundation
import TransferModel

/// The ends of attempts that ended their tasks and left nothing behind, as an array per column, for
/// `unnest`; empty, but for the first ones, where it would have nothing but NULL or zero.
struct PlainEndColumns {
    /// The place of each end in the argument, from 1: the order of its events.
    ///
    /// Empty if they are in the order of their tasks.
    var places: [Int64] = []
    var tasks: [UUID] = []
    var fences: [Int64] = []
    var outcomes: [StoredOutcome] = []
    var bytesReceived: [Int64] = []
    var bytesSent: [Int64] = []
    var failures: [String?] = []
    var measurements: [String?] = []
    var httpStatuses: [Int16?] = []
    var responseHeads: [String?] = []
    var partFences: [Int64?] = []
    var responseBodies: [[UInt8]?] = []
    /// The attempts that runs may have.
    private(set) var runs = FenceSpans([])
    /// The pending renames.
    private(set) var renames = FenceSpans([])

    /// Creates the columns; nil unless all ends are of that kind, as by far the most are.
    init?(_ attemptEnds: [AttemptEnd]) throws(StoreError) {
        // Sorted by task, the order in which every statement locks.
        let sorted = attemptEnds.indices.sorted {
            attemptEnds[$0].task.uuid.precedes(attemptEnds[$1].task.uuid)
        }
        for index in sorted {
            let attemptEnd = attemptEnds[index]
            guard attemptEnd.partial == nil, attemptEnd.abandoned == nil else { return nil }
            switch attemptEnd.outcome {
            case .completed: append(.completed)
            case .fetched(let result, let part): append(.fetched, result, part: part)
            case .answered(let result, let body): append(.answered, result, body: body)
            case .failed(let failure): append(.failed, failure: try StoredJSON.text(of: failure))
            case .retry, .waitForConnectivity, .waitOut, .askForCredential, .moved, .released,
                .requeued:
                return nil
            }
            places.append(Int64(index + 1))
            tasks.append(attemptEnd.task.uuid)
            fences.append(attemptEnd.fence.rawValue)
            bytesReceived.append(attemptEnd.bytesReceived)
            bytesSent.append(attemptEnd.bytesSent)
            measurements.append(attemptEnd.metrics.map(StoredMetrics.text(of:)))
        }
        if sorted.elementsEqual(attemptEnds.indices) { places = [] }
        if bytesSent.allSatisfy({ $0 == 0 }) { bytesSent = [] }
        runs = FenceSpans(fences) { outcomes[$0] != .completed }
        renames = FenceSpans(fences) { outcomes[$0] == .completed }
        failures = failures.column()
        measurements = measurements.column()
        httpStatuses = httpStatuses.column()
        responseHeads = responseHeads.column()
        partFences = partFences.column()
        responseBodies = responseBodies.column()
    }

    private mutating func append(
        _ outcome: StoredOutcome,
        _ result: TransferResult? = nil,
        part: Fence? = nil,
        body: [UInt8] = [],
        failure: String? = nil
    ) {
        outcomes.append(outcome)
        failures.append(failure)
        httpStatuses.append(result.map { Int16(clamping: $0.httpStatus) })
        responseHeads.append(result.map(StoredResponseHead.text(of:)))
        partFences.append(part?.rawValue)
        responseBodies.append(body.isEmpty ? nil : body)
    }
}
