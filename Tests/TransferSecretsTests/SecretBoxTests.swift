import Foundation
import Testing
import TransferModel
import TransferSecrets

@Suite struct SecretBoxTests {
    private let tenant = TenantID(UUID())
    private let row = Array("a row".utf8)
    private let text = Array("a refresh token".utf8)

    private func box(_ keys: [String]) throws -> SecretBox {
        try #require(SecretBox(keys: keys.compactMap { SecretsKey(hex: $0) }))
    }

    @Test func whatIsSealedOpensForItsTenantPurposeAndRowOnly() throws {
        let box = try box([SecretsKey.random()])
        let sealed = try box.seal(text, for: .credential, of: tenant, in: row)
        #expect(try box.open(sealed, for: .credential, of: tenant, in: row) == text)
        #expect(throws: SecretBox.Failure.damaged) {
            try box.open(sealed, for: .credential, of: TenantID(UUID()), in: row)
        }
        #expect(throws: SecretBox.Failure.damaged) {
            try box.open(sealed, for: .accessToken, of: tenant, in: row)
        }
        #expect(throws: SecretBox.Failure.damaged) {
            try box.open(sealed, for: .credential, of: tenant, in: text)
        }
    }

    @Test func neitherTheTextNorARepetitionCanBeSeen() throws {
        let box = try box([SecretsKey.random()])
        let first = try box.seal(text, for: .credential, of: tenant, in: row)
        let second = try box.seal(text, for: .credential, of: tenant, in: row)
        #expect(first != second)
        #expect(Data(first).range(of: Data(text)) == nil)
    }

    @Test func aChangedByteIsNoticedWhereverItIs() throws {
        let box = try box([SecretsKey.random()])
        let sealed = try box.seal(text, for: .credential, of: tenant, in: row)
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 1
            #expect(throws: SecretBox.Failure.self) {
                try box.open(changed, for: .credential, of: tenant, in: row)
            }
        }
        for count in sealed.indices {
            #expect(throws: SecretBox.Failure.self) {
                try box.open(Array(sealed.prefix(count)), for: .credential, of: tenant, in: row)
            }
        }
    }

    @Test func anOlderKeyStillOpensAndAMissingOneIsSaid() throws {
        let (old, new) = (SecretsKey.random(), SecretsKey.random())
        let sealed = try box([old]).seal(text, for: .credential, of: tenant, in: row)
        #expect(try box([new, old]).open(sealed, for: .credential, of: tenant, in: row) == text)
        let missing = SecretBox.Failure.unknownKey(name: try box([old]).sealingKeyName)
        #expect(throws: missing) {
            try box([new]).open(sealed, for: .credential, of: tenant, in: row)
        }
        #expect("\(missing)".contains(sealed[1..<5].hexadecimal))
        let later = try box([new, old]).seal(text, for: .credential, of: tenant, in: row)
        #expect(try box([new]).open(later, for: .credential, of: tenant, in: row) == text)
    }

    @Test(arguments: [
        "", "00", String(repeating: "g", count: 64), String(repeating: "+1", count: 32),
        String(repeating: "-0", count: 32),
    ])
    func onlyAWholeKeyIsOne(text: String) {
        #expect(SecretsKey(hex: text) == nil)
    }

    @Test func aFileOfKeysIsReadWholeOrNotAtAll() {
        let key = SecretsKey.random()
        #expect(SecretsKey.keys(in: "\(key)\n")?.count == 1)
        #expect(SecretsKey.keys(in: "\(key)\n\(SecretsKey.random())\n")?.count == 2)
        #expect(SecretsKey.keys(in: "\(key)\nnonsense\n") == nil)
        #expect(SecretsKey.keys(in: "\n") == nil)
    }

    @Test func aSecretShowsNothing() {
        let secrets = Credential.Secrets(main: Secret("hidden"), client: Secret("hidden"))
        var dumped = ""
        dump(secrets, to: &dumped)
        for text in ["\(secrets)", String(reflecting: secrets), dumped] {
            #expect(!text.contains("hidden"))
        }
    }
}
