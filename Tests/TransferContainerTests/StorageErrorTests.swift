import Glibc
import Testing
import TransferContainer
import TransferModel

@Suite struct StorageErrorTests {
    private static let shortages: [(Int32, Shortage)] = [
        (ENOSPC, .storageFull), (EDQUOT, .storageFull),
        (EMFILE, .descriptorsExhausted), (ENFILE, .descriptorsExhausted),
        (ENOMEM, .memoryExhausted), (EAGAIN, .memoryExhausted),
        (EIO, .storageFailure), (ESTALE, .storageFailure), (ENOTCONN, .storageFailure),
    ]

    @Test(arguments: shortages)
    func whatTheMachineIsShortOfIsNoTasksFault(errno: Int32, shortage: Shortage) {
        let failure = StorageError(operation: "pwrite", errno: errno).failure
        #expect(failure.shortage == shortage)
        #expect(failure.isRetryable)
    }

    @Test(arguments: [
        EEXIST, EACCES, EPERM, EROFS, ENOTDIR, EISDIR, ELOOP, EXDEV, ENAMETOOLONG, EBUSY,
    ])
    func whatIsWrongWithAPlaceIs(errno: Int32) {
        let failure = StorageError(operation: "openat2", errno: errno).failure
        #expect(failure.shortage == nil)
        #expect(!failure.isRetryable)
    }

    @Test(arguments: [
        ("/dev/null", "open /dev/null: Not a directory"),
        ("/dev/null/in", "mkdir /dev/null/in: Not a directory"),
        ("/nowhere/in", "mkdir /nowhere/in: No such file or directory"),
    ])
    func aDirectoryThatCannotBeUsedIsNamed(path: String, text: String) {
        let failure = #expect(throws: StorageError.self) { try Container(directory: path) }
        #expect(failure?.description == text)
    }

    @Test func theWordsAreThoseOfFailures() {
        for shortage in Shortage.allCases {
            let code = TransferFailure.Code(rawValue: shortage.rawValue)
            #expect(code.flatMap { TransferFailure($0, "").shortage } == shortage)
        }
    }
}
