import Foundation
import Glibc
import Synchronization
import Testing
import TransferTestSupport

@testable import TransferHTTP

/// The certificate that is read again when its files change.
@Suite struct ServerCertificateTests {
    private struct Refused: Error {}

    /// The certificate in a folder, and a check of its key that can be made to fail.
    private final class World: Sendable {
        let folder: TestFolder
        let authority: TestAuthority
        let isRefused = Mutex(false)

        init() async throws {
            folder = try TestFolder("certificate")
            authority = try await TestAuthority()
            try await renew()
        }

        var certificateFile: String { "\(folder.path)/certificate" }
        var keyFile: String { "\(folder.path)/key" }

        func renew() async throws {
            let certificate = try await authority.issue()
            try Data(certificate.certificate).write(to: URL(filePath: certificateFile))
            try Data(certificate.key).write(to: URL(filePath: keyFile))
        }

        func certificate() throws -> ServerCertificate {
            try ServerCertificate(certificateFile: certificateFile, keyFile: keyFile) {
                if self.isRefused.withLock({ $0 }) { throw Refused() }
            }
        }
    }

    /// What was wrong may be elsewhere than in the files, as with an owner that has no name yet.
    @Test func aRenewalThatCouldNotBeReadIsReadOnceItCan() async throws {
        let world = try await World()
        let certificate = try world.certificate()
        #expect(try !certificate.reload())
        try await world.renew()
        world.isRefused.withLock { $0 = true }
        #expect(throws: Refused.self) { try certificate.reload() }
        #expect(throws: Refused.self) { try certificate.reload() }
        world.isRefused.withLock { $0 = false }
        let isRead = try certificate.reload()
        #expect(isRead)
        #expect(try !certificate.reload())
    }

    /// As when its owner is changed.
    @Test func aFileWhoseTimeOfChangeAloneIsAnotherIsReadAgain() async throws {
        let world = try await World()
        let certificate = try world.certificate()
        var status = stat()
        #expect(stat(world.keyFile, &status) == 0)
        // The clock of a file system goes in steps.
        try await eventually("the change is seen") {
            #expect(chmod(world.keyFile, status.st_mode & 0o7777) == 0)
            return try certificate.reload()
        }
    }
}
