@testable import Postgres
import Testing

@Suite struct PostgresErrorTests {
    @Test(arguments: [
        ("40001", true, false), ("40P01", true, false), ("26000", true, false),
        ("57P01", true, true), ("57P03", true, true), ("57014", true, true),
        ("55P03", true, true), ("53300", true, true), ("53100", true, true),
        ("08006", true, true), ("58030", true, true), ("25006", true, true),
        ("23505", false, false), ("42P01", false, false), ("22012", false, false),
        ("0A000", false, false),
    ])
    func sqlStateDecides(sqlState: String, isRetryable: Bool, isUnavailable: Bool) {
        let error = PostgresError(.server, "refused", sqlState: sqlState)
        #expect(error.isRetryable == isRetryable)
        #expect(error.isUnavailable == isUnavailable)
    }

    /// PostgreSQL has no code for it.
    @Test(arguments: [
        ("could not extend file \"base/5/1\": Disk quota exceeded", "XX000", true),
        ("could not extend file \"base/5/1\": Disk quota exceeded; hint: Free it.", "XX000", true),
        ("could not extend file \"base/5/1\": Plattenkontingent überschritten", "XX000", false),
        ("invalid page in block 7", "XX001", false),
    ])
    func aQuotaIsALackOfSpace(details: String, sqlState: String, lacksSpace: Bool) {
        let error = PostgresError(.server, "refused", details: details, sqlState: sqlState)
        #expect(error.isInternal)
        #expect(error.lacksSpace == lacksSpace)
        #expect(error.isUnavailable == lacksSpace)
        #expect(error.isRetryable == lacksSpace)
    }

    @Test(arguments: PostgresError.Code.allCases.filter { $0 != .server })
    func codeDecides(code: PostgresError.Code) {
        let error = PostgresError(code, "some cause")
        switch code {
        case .connectionFailed, .connectionLost, .deadlineExceeded, .poolExhausted:
            #expect(error.isRetryable && error.isUnavailable)
        case .poolClosed:
            #expect(!error.isRetryable && error.isUnavailable)
        case .cancelled, .encoding, .decoding, .server:
            #expect(!error.isRetryable && !error.isUnavailable)
        }
    }

    @Test(arguments: [
        (
            "could not translate host name \"db-7.internal\" to address: Name not known",
            "could not translate host name \"…\" to address: Name not known"
        ),
        (
            "connection to server at \"db\" (10.0.0.1), port 5432 failed: timeout expired",
            "timeout expired"
        ),
        (
            "root certificate file \"/etc/ca.pem\" does not exist\nProvide the file",
            "root certificate file \"…\" does not exist"
        ),
        ("FATAL:  role \"later\" does not exist", "role \"…\" does not exist"),
        ("an open \"db-7.internal", "an open \"…"), ("", "refused"),
    ])
    func reasonTellsNoNames(details: String, reason: String) {
        #expect(PostgresError(.connectionFailed, "refused", details: details).reason == reason)
    }

    @Test func descriptionKeepsTheServersWordsToItself() {
        let error = PostgresError(
            .server,
            "refused",
            details: "Key (name)=(secret) exists",
            sqlState: "23505",
            constraint: "name_unique"
        )
        #expect(error.description == "server: refused (SQLSTATE 23505) (constraint name_unique)")
        #expect(error.debugDescription.hasSuffix(": Key (name)=(secret) exists"))
        #expect("\(error)" == error.description)
    }
}
