import Foundation
import TransferModel

/// The submissions as an array per column, for `unnest`.
struct SubmissionColumns {
    /// The batch of each submission, from 1; submissions of a batch are adjacent.
    let batches: [Int64]
    /// The place of each submission within its batch, from 1.
    let places: [Int64]
    /// The number of submissions in each batch; ``haveData`` says whether data tasks are among
    /// them.
    let counts: [Int64]
    let haveData: [Bool]
    let ids: [UUID]
    let hostKeys: [Int64]
    let ranks: [Int16]
    let urls: [String]
    let headers: [String]
    let clientStrings: [[UInt8]?]
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
    let resumeData: [(id: UUID, task: UUID)]

    init(_ submissionBatches: [SessionBatch]) throws(StoreError) {
        let byBatch = submissionBatches.map(\.submissions)
        batches = byBatch.enumerated().flatMap { index, batch in batch.map { _ in Int64(index + 1) }
        }
        places = byBatch.flatMap { batch in batch.indices.map { Int64($0 + 1) } }
        counts = byBatch.map { Int64($0.count) }
        haveData = byBatch.map { batch in batch.contains { $0.request.kind == .data } }
        let submissions = byBatch.flatMap(\.self)
        ids = submissions.map(\.id.uuid)
        hostKeys = submissions.map(\.hostKey.rawValue)
        ranks = submissions.map(\.priority.rank)
        urls = submissions.map(\.url)
        headers = try submissions.map { submission throws(StoreError) in
            try StoredJSON.text(of: submission.headers)
        }
        clientStrings = submissions.map { $0.clientString?.utf8 }
        earliestBeginAt = submissions.map(\.earliestBeginAt)
        autostart = submissions.map(\.autostart)
        paths = submissions.map { $0.destination?.path }
        overwrites = submissions.map { $0.destination?.overwrite }
        options = try submissions.map { submission throws(StoreError) in
            try StoredJSON.text(of: submission.options)
        }
        kinds = submissions.map(\.request.kind.rawValue)
        // The usual method is not stored.
        methods = submissions.map { submission in
            let request = submission.request
            return request.method == request.kind.methodDefault ? nil : request.method
        }
        uploadPaths = submissions.map { submission in
            if case .file(let path) = submission.request.upload { path } else { nil }
        }
        areStaged = submissions.map { $0.request.upload == .staged }
        uploadData = submissions.map { submission in
            if case .data(let bytes) = submission.request.upload { bytes } else { nil }
        }
        resumeData = submissions.compactMap { submission in
            submission.resumeData.map { (id: $0.uuid, task: submission.id.uuid) }
        }
    }
}
