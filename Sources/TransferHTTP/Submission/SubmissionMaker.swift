import Foundation
import TransferModel
import TransferWire

/// Makes submissions of tasks as they are read, one by one, so that nothing else is kept of them.
struct SubmissionMaker {
    /// The submissions of the tasks with which nothing is wrong, in their order.
    private(set) var submissions: [TaskSubmission] = []
    private var hosts = HostKeys()
    /// Lists show a batch as it was sent, and the queue keeps those at one host in few rows.
    private let ids: [UUID]

    /// Creates a maker of at most `count` submissions.
    init(count: Int) { ids = UUID.consecutiveVersion7(count: count) }

    /// Makes the submission of the next task.
    ///
    /// - Returns: what is wrong with it; then there is none.
    mutating func take(_ task: Checked<TaskRequest>) -> [FieldError] {
        switch task.result {
        case .failure(let error): return [error]
        case .success(let request):
            var errors: [FieldError] = []
            let submission = request.submission(
                id: TaskID(ids[submissions.count]),
                hosts: &hosts,
                into: &errors
            )
            if let submission { submissions.append(submission) }
            return errors
        }
    }
}

extension SubmissionMaker {
    /// Returns the submissions of a body in its order, and whether it is an array.
    ///
    /// - Throws: ``Problem`` that lists what is wrong with any of them; then none is stored.
    static func submissions(
        in body: [UInt8]
    ) throws(Problem) -> (isBatch: Bool, submissions: [TaskSubmission]) {
        let read: (isBatch: Bool, maker: SubmissionMaker, errors: [FieldError])
        do throws(WireDecoder.Failure) {
            read = try SubmitRequest.read(json: body) { isBatch in
                (isBatch, SubmissionMaker(count: isBatch ? SubmitRequest.tasksMax : 1), [])
            } take: { read, index, task in
                let errors = read.maker.take(task)
                read.errors += read.isBatch ? errors.map { $0.moved(to: "/\(index)") } : errors
            }
        } catch {
            throw Problem(error)
        }
        guard read.errors.isEmpty else { throw Problem(read.errors) }
        return (read.isBatch, read.maker.submissions)
    }
}
