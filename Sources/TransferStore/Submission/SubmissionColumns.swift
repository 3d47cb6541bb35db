import Foundation
import TransferModel

/// The submissions as an array per column, for `unnest`; a column of NULLs is empty.
struct SubmissionColumns {
    /// The batch of each submission, from 1; submissions of a batch are adjacent.
    ///
    /// Empty if there is one batch.
    let batches: [Int64]
    /// The number of submissions in each batch; ``haveData`` says whether data tasks are among
    /// them.
    let counts: [Int64]
    let haveData: [Bool]
    let ids: [UUID]
    let hostKeys: [Int64]
    let ranks: [Int16]
    let urls: [String]
    let headers: [String?]
    let clientStrings: [String.UTF8View?]
    let earliestBeginAt: [Date?]
    let autostart: [Bool]
    let paths: [String?]
    let overwrites: [Bool?]
    let options: [String?]
    let kinds: [String]
    let methods: [String?]
    let uploadPaths: [String?]
    let areStaged: [Bool]
    let uploadData: [[UInt8]?]
    let areCopies: [Bool]
    let resumeData: [(id: UUID, task: UUID)]
    /// The submissions that one row tells of, in the order of all.
    let runs: [Run]

    /// Submissions that follow each other in a batch and have the same state when they are stored.
    struct Run {
        let batch: Int64
        /// The place of the first within its batch, from 1.
        let place: Int64
        /// The place of the first among all submissions, from 1.
        let first: Int32
        var count: Int32
        /// Nil if only the database knows, whose clock tells whether the time has come.
        let state: TransferState?
    }

    /// The submissions that become one row of the queue if they are queued, in the order of all.
    let readyRuns: [ReadyRun]

    /// Submissions of a run that also have consecutive identifiers, and one host and priority.
    struct ReadyRun {
        let batch: Int64
        /// The place of the run within ``runs``, from 1.
        let run: Int64
        /// The place of the first among all submissions, from 1.
        let first: Int32
        var count: Int32
    }

    /// Whether all can be claimed as soon as they are stored: none waits for its client or a time.
    var areAllQueued: Bool { runs.allSatisfy { $0.state == .queued } }
    /// Whether all are downloads without anything of their own but headers, a client string and a
    /// destination, as nearly all are.
    let areDownloads: Bool

    init(_ submissionBatches: [SessionBatch], _ sealer: RowSealer) throws(StoreError) {
        let byBatch = submissionBatches.map(\.submissions)
        batches = Self.numbers(of: byBatch)
        counts = byBatch.map { Int64($0.count) }
        haveData = byBatch.map { batch in batch.contains { $0.request.kind == .data } }
        let submissions = byBatch.count == 1 ? byBatch[0] : byBatch.flatMap(\.self)
        ids = submissions.map(\.id.uuid)
        hostKeys = submissions.map(\.hostKey.rawValue)
        ranks = submissions.map(\.priority.rank)
        let tenants = zip(submissionBatches, byBatch).flatMap { batch, submissions in
            repeatElement(batch.session.tenant, count: submissions.count)
        }
        // By index, because an iterator would copy each submission for each column.
        urls = try submissions.indices.map { index throws(StoreError) in
            try sealer.seal(
                url: submissions[index].url,
                at: .url(of: submissions[index].id, of: tenants[index])
            )
        }
        headers = try submissions.indices.map { index throws(StoreError) in
            submissions[index].headers.isEmpty
                ? nil
                : try sealer.seal(
                    headers: submissions[index].headers,
                    at: .headers(of: submissions[index].id, of: tenants[index])
                )
        }.column()
        clientStrings = submissions.map { $0.clientString?.utf8 }.column()
        earliestBeginAt = submissions.map(\.earliestBeginAt).column()
        autostart = submissions.map(\.autostart)
        paths = submissions.map { $0.destination?.path }.column()
        overwrites = submissions.map { $0.destination?.overwrite }.column()
        options = try submissions.indices.map { index throws(StoreError) in
            guard submissions[index].hasOptions else { return nil }
            return try StoredJSON.text(
                of: submissions[index].options,
                sealer,
                at: .url(of: submissions[index].id, of: tenants[index])
            )
        }.column()
        kinds = submissions.map(\.request.kind.rawValue)
        // The usual method is not stored.
        methods = submissions.map { submission in
            let request = submission.request
            return request.method == request.kind.methodDefault ? nil : request.method
        }.column()
        uploadPaths = submissions.map { submission in
            if case .file(let path) = submission.request.upload { path } else { nil }
        }.column()
        areStaged = submissions.map { $0.request.upload == .staged }
        uploadData = try submissions.indices.map { index throws(StoreError) in
            guard let bytes = try submissions[index].uploadBytes else { return nil }
            return try sealer.seal(bytes, at: .body(of: submissions[index].id, of: tenants[index]))
        }.column()
        areCopies = submissions.map { submission in
            if case .copy = submission.request.upload { true } else { false }
        }
        resumeData = submissions.compactMap { submission in
            submission.resumeData.map { (id: $0.uuid, task: submission.id.uuid) }
        }
        runs = Self.runs(of: byBatch)
        readyRuns = Self.readyRuns(of: submissions, in: runs)
        areDownloads = submissions.allSatisfy { submission in
            submission.request == TransferRequest() && !submission.hasOptions
                && submission.earliestBeginAt == nil
        }
    }

    private static func numbers(of batches: [[TaskSubmission]]) -> [Int64] {
        guard batches.count > 1 else { return [] }
        return batches.enumerated().flatMap { index, batch in
            repeatElement(Int64(index + 1), count: batch.count)
        }
    }

    private static func runs(of batches: [[TaskSubmission]]) -> [Run] {
        var runs: [Run] = []
        var first: Int32 = 1
        for (index, batch) in batches.enumerated() {
            let number = Int64(index + 1)
            for place in batch.indices {
                let state = batch[place].stateIfKnown
                if let last = runs.last, last.batch == number, let state, last.state == state,
                    last.count < EventRuns.lengthMax
                {
                    runs[runs.count - 1].count += 1
                } else {
                    runs.append(
                        Run(
                            batch: number,
                            place: Int64(place + 1),
                            first: first,
                            count: 1,
                            state: state
                        )
                    )
                }
                first += 1
            }
        }
        return runs
    }

    private static func readyRuns(of submissions: [TaskSubmission], in runs: [Run]) -> [ReadyRun] {
        var readyRuns: [ReadyRun] = []
        for (index, run) in runs.enumerated() where run.state == nil || run.state == .queued {
            for place in run.first..<run.first + run.count {
                let own = Int(place) - 1
                if place > run.first, submissions[own].follows(submissions[own - 1]) {
                    readyRuns[readyRuns.count - 1].count += 1
                } else {
                    readyRuns.append(
                        ReadyRun(
                            batch: run.batch,
                            run: Int64(index + 1),
                            first: place,
                            count: 1
                        )
                    )
                }
            }
        }
        return readyRuns
    }
}

extension TaskSubmission {
    /// The bytes of the column that holds what an upload sends, or what it copies.
    fileprivate var uploadBytes: [UInt8]? {
        get throws(StoreError) {
            switch request.upload {
            case .data(let data): data
            case .copy(let source): Array(try StoredJSON.text(of: source).utf8)
            case .file, .staged, nil: nil
            }
        }
    }

    /// Whether this task can be next to `other` in a run of the queue, and no other task between
    /// them.
    fileprivate func follows(_ other: TaskSubmission) -> Bool {
        hostKey == other.hostKey && priority == other.priority && id.uuid.follows(other.id.uuid)
            && id.uuid.isInBlock(of: other.id.uuid)
    }

    /// The state in which the task is stored; nil if it may be queued or scheduled.
    fileprivate var stateIfKnown: TransferState? {
        if !autostart || request.upload == .staged { return .suspended }
        return earliestBeginAt == nil ? .queued : nil
    }
}
