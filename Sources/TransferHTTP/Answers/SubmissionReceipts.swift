import Foundation
import TransferModel
import TransferStore
import TransferWire

/// The receipts of the tasks of one submission.
///
/// They are kept for a repetition without what follows from the rest: a receipt is some 200 bytes,
/// and what is kept of a thousand tasks that differ only in their URLs is not much longer.
struct SubmissionReceipts: Codable, Sendable {
    /// Tasks whose identifiers follow each other, all of them with a client string or none.
    private struct Run: Codable {
        let first: UUID
        var count: Int
        let kind: String
        let state: String
        var clientStrings: [ClientString]?

        /// Whether there are as many tasks and client strings as a submission can have.
        var isWhole: Bool {
            (1...SubmitRequest.tasksMax).contains(count) && clientStrings?.count ?? count == count
        }

        /// Whether the tasks of `other` may be in the same run.
        func isLike(_ other: Run) -> Bool {
            kind == other.kind && state == other.state
                && (clientStrings == nil) == (other.clientStrings == nil)
        }
    }

    /// The byte before what is kept; no JSON text begins with it.
    private static let mark: UInt8 = 0
    /// The bytes of client strings beyond which they are most of the receipts, and would only be
    /// copied.
    private static let clientBytesMax = 256 * 1024

    private let form: ReceiptWriter.Form
    private let sessionIdentifier: String
    private var runs: [Run] = []

    /// Creates the receipts of tasks that are to be stored in the session at `session`.
    init(
        of submissions: [TaskSubmission],
        as form: ReceiptWriter.Form,
        in session: SessionAddress
    ) {
        self.form = form
        sessionIdentifier = session.identifier
        let now = Date()
        var latest: UUID?
        for submission in submissions {
            let run = Run(
                first: submission.id.uuid,
                count: 1,
                kind: submission.request.kind.rawValue,
                state: submission.initialState(at: now).rawValue,
                clientStrings: submission.clientString.map { [$0] }
            )
            if let latest, run.first.follows(latest), let last = runs.last, last.isLike(run) {
                runs[runs.count - 1].count += 1
                if let string = submission.clientString {
                    runs[runs.count - 1].clientStrings?.append(string)
                }
            } else {
                runs.append(run)
            }
            latest = run.first
        }
    }

    /// Reads what ``kept()`` has made.
    ///
    /// - Returns: nil for any other bytes, such as an answer of another kind.
    /// - Throws: `DecodingError` for bytes that are damaged.
    init?(kept bytes: [UInt8]) throws {
        guard bytes.first == Self.mark else { return nil }
        self = try WireDecoder.decode(Self.self, fromAnswer: Array(bytes.dropFirst()))
        guard runs.allSatisfy({ $0.isWhole }) else {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(codingPath: [], debugDescription: "a run without its tasks")
            )
        }
    }

    /// Returns what is kept for a repetition; nil if it would be client strings above all, and the
    /// receipts are kept themselves.
    func kept() throws -> [UInt8]? {
        let bytes = runs.reduce(0) { sum, run in
            run.clientStrings?.reduce(sum) { $0 + $1.utf8.count } ?? sum
        }
        guard bytes <= Self.clientBytesMax else { return nil }
        return try [Self.mark] + WireEncoder.encode(self)
    }

    /// Returns the receipts in JSON.
    func body() throws -> [UInt8] {
        var writer = try ReceiptWriter(
            form,
            sessionIdentifier: sessionIdentifier,
            count: runs.reduce(0) { $0 + $1.count }
        )
        for run in runs {
            for index in 0..<run.count {
                try writer.append(
                    id: run.first.advanced(by: index).text,
                    kind: run.kind,
                    clientString: run.clientStrings?[index].string,
                    state: run.state
                )
            }
        }
        return writer.finish()
    }
}

extension ClientString: Codable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let value = ClientString(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "too long")
        }
        self = value
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(string)
    }
}

extension TaskSubmission {
    /// Returns the state in which the task is created.
    fileprivate func initialState(at now: Date) -> TransferState {
        guard autostart, request.upload != .staged else { return .suspended }
        return earliestBeginAt.map { $0 > now } ?? false ? .scheduled : .queued
    }
}
