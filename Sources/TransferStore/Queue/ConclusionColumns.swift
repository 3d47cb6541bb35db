import Foundation
import TransferModel

/// The conclusions turned on their side: an array per column, for `unnest`.
struct ConclusionColumns {
    /// Where each was among what was given, from 1 on: the order of its events.
    var places: [Int64] = []
    var tasks: [UUID] = []
    var fences: [Int64] = []
    var verdicts: [String] = []
    var bytesReceived: [Int64] = []
    var failures: [String?] = []
    var delays: [Int64?] = []
    var abandoned: [Int64?] = []
    var metrics = MetricsColumns()
    var partials: [PartialColumns] = []
    var bytesSent: [Int64] = []
    var answers: [AnswerColumns] = []
    var questions: [QuestionColumns] = []

    init(_ conclusions: [Conclusion]) throws(StoreError) {
        // By task, as everybody locks them, so that nobody waits for one who waits for him.
        let sorted = conclusions.enumerated().sorted { $0.element.task.uuid < $1.element.task.uuid }
        for (index, conclusion) in sorted {
            let place = Int64(index + 1)
            places.append(place)
            tasks.append(conclusion.task.uuid)
            fences.append(conclusion.fence.rawValue)
            bytesReceived.append(conclusion.bytesReceived)
            bytesSent.append(conclusion.bytesSent)
            abandoned.append(conclusion.abandoned?.rawValue)
            metrics.append(conclusion.metrics)
            if let partial = conclusion.partial {
                partials.append(PartialColumns(partial, place: place))
            }
            switch conclusion.verdict {
            case .completed: try append("completed")
            case .fetched(let result, let part):
                try append("fetched")
                answers.append(AnswerColumns(result, part: part, place: place))
            case .answered(let result, let body):
                try append("answered")
                answers.append(AnswerColumns(result, body: body, place: place))
            case .failed(let failure): try append("failed", failure)
            case .retry(let failure, let delay): try append("retry", failure, delay)
            case .waitForConnectivity(let failure, let delay):
                try append("offline", failure, delay)
            case .waitOut(let failure, let delay): try append("short", failure, delay)
            case .askForCredential(let failure, let origin, let name, let time):
                try append("asks", failure, time)
                questions.append(
                    QuestionColumns(
                        place: place,
                        origin: origin.description,
                        credential: name
                    )
                )
            case .released: try append("released")
            case .requeued: try append("requeued")
            }
        }
    }

    private mutating func append(
        _ verdict: String,
        _ failure: TransferFailure? = nil,
        _ delay: Duration? = nil
    ) throws(StoreError) {
        verdicts.append(verdict)
        failures.append(
            try failure.map { failure throws(StoreError) in try StoredJSON.text(of: failure) }
        )
        delays.append(delay?.milliseconds)
    }
}

/// What the origin answered, unless a publication knows it; also a table of their own.
struct AnswerColumns {
    let place: Int64
    let httpStatus: Int16
    let contentType: String?
    let etag: String?
    let isLengthVerified: Bool
    let suggestedFileName: String?
    let partFence: Int64?
    let body: [UInt8]?

    init(_ result: TransferResult, body: [UInt8] = [], part: Fence? = nil, place: Int64) {
        self.place = place
        httpStatus = Int16(clamping: result.httpStatus)
        contentType = result.contentType
        etag = result.etag
        isLengthVerified = result.isLengthVerified
        suggestedFileName = result.suggestedFileName
        partFence = part?.rawValue
        self.body = body.isEmpty ? nil : body
    }
}

/// What an origin wants; few conclusions ask, so these are a table of their own.
struct QuestionColumns {
    let place: Int64
    let origin: String
    let credential: String?
}

/// The part that a conclusion leaves; few have one, so these are a table of their own.
struct PartialColumns {
    let place: Int64
    let partFence: Int64
    let ranges: String?
    let bootID: UUID
    let bytesDurable: Int64
    let bytesTotal: Int64
    let validator: String

    init(_ partial: PartialDownload, place: Int64) {
        self.place = place
        partFence = partial.partFence.rawValue
        ranges = partial.ranges?.text
        bootID = partial.bootID
        bytesDurable = partial.bytesDurable
        bytesTotal = partial.bytesTotal
        validator = partial.validator.value
    }
}
