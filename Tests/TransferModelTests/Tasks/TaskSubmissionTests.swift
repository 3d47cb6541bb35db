import Foundation
import Testing
import TransferModel

@Suite struct TaskSubmissionTests {
    @Test func optionsAreWhatWasSetLast() {
        var submission = TaskSubmission(
            id: TaskID(UUID()),
            url: "http://a.example/",
            hostKey: HostKey(rawValue: 1)
        )
        #expect(!submission.hasOptions)
        #expect(submission.options == TransferOptions())
        submission.options.segmentsMax = 3
        let copy = submission
        submission.options.sizeMax = 7
        #expect(submission.options.segmentsMax == 3 && submission.options.sizeMax == 7)
        #expect(copy.hasOptions && copy.options.sizeMax == nil)
        submission.options = TransferOptions()
        #expect(!submission.hasOptions)
    }
}
