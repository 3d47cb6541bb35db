import Foundation
import TransferModel

/// The ends of attempts as an array per column, for `unnest`.
struct AttemptEndColumns {
    /// The place of each end in the argument, from 1: the order of its events.
    var places: [Int64] = []
    var tasks: [UUID] = []
    var fences: [Int64] = []
    var outcomes: [StoredOutcome] = []
    var bytesReceived: [Int64] = []
    var failures: [String?] = []
    var delays: [Int64?] = []
    var abandoned: [Int64?] = []
    var measurements: [String?] = []
    /// The parts that ends leave, with the places of these; few leave one.
    var partials: [(place: Int64, part: PartialDownload)] = []
    var bytesSent: [Int64] = []
    var responses: [ResponseRow] = []
    var questions: [QuestionRow] = []
    var moves = MirrorMoveColumns()

    init(_ attemptEnds: [AttemptEnd]) throws(StoreError) {
        // Sorted by task, the order in which every statement locks them, so that no two wait for
        // each other.
        let sorted = attemptEnds.enumerated().sorted {
            $0.element.task.uuid.precedes($1.element.task.uuid)
        }
        for (index, attemptEnd) in sorted {
            let place = Int64(index + 1)
            places.append(place)
            tasks.append(attemptEnd.task.uuid)
            fences.append(attemptEnd.fence.rawValue)
            bytesReceived.append(attemptEnd.bytesReceived)
            bytesSent.append(attemptEnd.bytesSent)
            abandoned.append(attemptEnd.abandoned?.rawValue)
            measurements.append(attemptEnd.metrics.map(StoredMetrics.text(of:)))
            if let partial = attemptEnd.partial {
                partials.append((place: place, part: partial))
            }
            switch attemptEnd.outcome {
            case .completed: try append(.completed)
            case .fetched(let result, let part):
                try append(.fetched)
                responses.append(ResponseRow(result, part: part, place: place))
            case .answered(let result, let body):
                try append(.answered)
                responses.append(ResponseRow(result, body: body, place: place))
            case .failed(let failure): try append(.failed, failure)
            case .retry(let failure, let delay): try append(.retry, failure, delay)
            case .waitForConnectivity(let failure, let delay):
                try append(.waitForConnectivity, failure, delay)
            case .waitOut(let failure, let delay): try append(.waitOut, failure, delay)
            case .askForCredential(let failure, let origin, let name, let time):
                try append(.askForCredential, failure, time)
                questions.append(
                    QuestionRow(
                        place: place,
                        origin: origin.description,
                        credential: name
                    )
                )
            case .moved(let failure, let move):
                switch move.wait {
                case .nothing: try append(.moved, failure)
                case .retry(let delay): try append(.retry, failure, delay)
                case .connectivity(let delay): try append(.waitForConnectivity, failure, delay)
                }
                moves.append(move, place: place)
            case .released: try append(.released)
            case .requeued: try append(.requeued)
            }
        }
    }

    private mutating func append(
        _ outcome: StoredOutcome,
        _ failure: TransferFailure? = nil,
        _ delay: Duration? = nil
    ) throws(StoreError) {
        outcomes.append(outcome)
        failures.append(
            try failure.map { failure throws(StoreError) in try StoredJSON.text(of: failure) }
        )
        delays.append(delay?.milliseconds)
    }
}
