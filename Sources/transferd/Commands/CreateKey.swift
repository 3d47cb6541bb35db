import ArgumentParser
import Foundation
import Glibc
import TransferHTTP
import TransferModel
import TransferStore

/// `transferd keys create`: creates one API key.
struct CreateKey: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Make a key and print it; only a hash of it is kept.",
        discussion: """
            To rotate a key, create another, give it to the clients, and revoke the first once \
            `transferd keys list` shows that it is no longer used.
            """
    )

    @Option(help: "The tenant it belongs to; made if there is none of that name.")
    var tenant = Keys.tenantDefault

    @Option(help: "What the key is for.")
    var name = "created on the command line"

    @Option(
        help: """
            What the key may be used for, of read, submit, control, webhooks and admin, separated \
            by commas; all but admin.
            """
    )
    var scopes: ScopesArgument?

    @Option(help: "When it expires, as 90d, 12h or 30m from now; never.")
    var expiresIn: PeriodArgument?

    @Option(help: "The most requests with it in a second to each instance; any number.")
    var requestsPerSecondMax: Int?

    @OptionGroup var database: DatabaseOptions

    func validate() throws {
        guard NewAPIKey.isName(name) else {
            throw ValidationError("--name: \(NewAPIKey.nameRule)")
        }
        if let requestsPerSecondMax, !RequestRate.range.contains(requestsPerSecondMax) {
            throw ValidationError(
                "--requests-per-second-max must be from \(RequestRate.range.lowerBound) to "
                    + "\(RequestRate.range.upperBound)."
            )
        }
    }

    func run() async throws {
        let key = APIKey.generate()
        try await Command.withStore(database, mayCreate: true) { database in
            var expiryDate: Date?
            if let expiresIn {
                expiryDate = try await database.currentTime() + expiresIn.seconds
            }
            let new = NewAPIKey(
                id: key.id,
                secretSHA256: key.secretSHA256,
                name: name,
                scopes: scopes?.scopes ?? KeyScope.defaults,
                expiresAt: expiryDate,
                requestsPerSecondMax: requestsPerSecondMax
            )
            _ = try await Command.audited(
                "keys create",
                about: "\(key.id) of \(tenant)",
                in: database
            ) {
                try await KeyStore(database).createAPIKey(new, tenantName: tenant)
            }
            // A reader that is gone is an error of the write.
            signal(SIGPIPE, SIG_IGN)
            do {
                let line = Data("\(key.serialized)\n".utf8)
                try FileHandle.standardOutput.write(contentsOf: line)
            } catch {
                // Nobody else has the key, and nobody can ask for it again.
                _ = try await Command.audited("keys revoke", about: key.id, in: database) {
                    try await KeyStore(database).revokeAPIKey(id: key.id)
                }
                throw NotPrinted()
            }
        }
    }

    /// The error for a key that could not be printed, and was revoked.
    private struct NotPrinted: Error, CustomStringConvertible {
        var description: String {
            "the key could not be printed, and was revoked: make another one"
        }
    }
}
