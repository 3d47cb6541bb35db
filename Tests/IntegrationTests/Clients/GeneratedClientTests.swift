import ChildProcess
import Foundation
import Testing
import TransferClient
import TransferTestSupport
import TransferWire

/// The Python client that a generator makes of `openapi.yaml`, and the example of
/// `docs/clients.md`.
@Suite(.timeLimit(.minutes(5))) struct GeneratedClientTests {
    @Test func downloadsAFileAndIsToldOfIt() async throws {
        let stage = try await GeneratedClientStage()
        // The guide says what each of them means.
        #expect(
            stage.warnings == [
                "WARNING parsing POST /v1/sessions/{identifier}/tasks within tasks.",
                "Unsupported content type application/x-ndjson",
                "WARNING parsing PUT /v1/tasks/{id}/body within tasks.",
                "Unsupported content type */*",
                "WARNING parsing GET /openapi.yaml within operations.",
            ]
        )
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let photo = OriginBody.random(seed: 1, size: 100_000)
        origin.when("/photo.jpg", .response(body: photo))
        let held = try HeldPort()
        defer { withExtendedLifetime(held) {} }
        let port = Int(held.number)
        let job = try stage.start(
            try GuideBlocks.all(
                "python",
                replacing: [
                    "https://example.com/photo.jpg": origin.url("/photo.jpg"),
                    "127.0.0.1:9000": "127.0.0.1:\(port)",
                ]
            )[0]
        )
        let secret = String(decoding: try #require(await job.line()), as: UTF8.self)
        let receiver = try await ReceiverLanguage.python.start(
            on: port,
            secret: secret.trimmingCharacters(in: .newlines),
            in: stage.folder,
            output: "received"
        )
        defer { receiver.kill() }
        let told = await job.line().map { String(decoding: $0, as: UTF8.self) }
        let status = await job.status()
        let errors = try stage.text("errors")
        #expect(status == 0, "\(errors)")
        #expect(told == "album 1, photo 1 completed\n")
        let file = try Data(contentsOf: URL(filePath: "\(stage.folder.path)/photo.jpg"))
        #expect([UInt8](file) == photo.bytes)
        let client = try stage.service.client(key: stage.directory.apiKey())
        let subscription = try #require(try await client.subscriptions().items.first)
        try await eventually("the barrier has come") {
            // Ends the wait of a message that came before its receiver, after which another one
            // waits for minutes.
            try await client.change(
                SubscriptionPatchRequest(enabled: true),
                ofSubscription: subscription.id
            )
            return try stage.text("received").contains("session.events_finished")
        }
        #expect(
            try stage.text("received").split(separator: "\n") == [
                "task.created", "task.download_finished", "task.completed",
                "session.events_finished",
            ]
        )
        #expect(await stage.service.terminate() == 0)
    }

    /// A generated client sends each `default` of the document, so that only those may be there
    /// which change nothing.
    @Test func asksForNothingThatItsUserHasNotNamed() async throws {
        let stage = try await GeneratedClientStage()
        let job = try stage.start(Self.sparseRequests)
        let status = await job.status()
        let errors = try stage.text("errors")
        #expect(status == 0, "\(errors)")
        #expect(await stage.service.terminate() == 0)
    }

    private static let sparseRequests = """
        import importlib, os, pkgutil, transferd
        from transferd import AuthenticatedClient
        from transferd.api.background_tasks import register_handler, submit_task_request
        from transferd.api.credentials import put_credential
        from transferd.api.sessions import change_session, put_session
        from transferd.api.subscriptions import change_subscription, create_subscription
        from transferd.api.tasks import get_task, submit_tasks
        from transferd.api.tenant import change_background_settings
        from transferd.models import *

        # All of it can be used, not only what is used here.
        for module in pkgutil.walk_packages(transferd.__path__, "transferd."):
            importlib.import_module(module.name)

        service = AuthenticatedClient(
            os.environ["TRANSFERD_URL"], os.environ["TRANSFERD_API_KEY"],
            raise_on_unexpected_status=True)

        def good(response):
            assert not isinstance(response, Problem), response
            return response

        options = SessionConfigurationRequest(
            redirects_max=3, segments_max=1, timeout_for_request=7, decompresses=True,
            http_errors="deliver", is_discretionary=True)
        good(put_session.sync("s", client=service, body=SessionRequest(configuration=options)))
        receipt = good(submit_tasks.sync("s", client=service, body=TaskRequest(
            url="http://127.0.0.1/", autostart=False)))
        found = good(get_task.sync(receipt.id, client=service)).effective_configuration
        assert (found.redirects_max, found.segments_max, found.timeout_for_request) == (3, 1, 7)
        assert found.decompresses and found.http_errors == "deliver"
        session = good(change_session.sync("s", client=service, body=SessionPatchRequest(
            configuration=SessionConfigurationRequest(redirects_max=4))))
        assert session.configuration.redirects_max == 4
        assert session.configuration.is_discretionary and session.configuration.segments_max == 1

        good(put_credential.sync("c", client=service, body=CredentialRequest(
            kind=CredentialRequestKind.BEARER, origins=["https://example.com"], token="t")))

        hook = good(create_subscription.sync(client=service, body=SubscriptionRequest(
            url="http://127.0.0.1:1/", wake_up_throttling=True)))
        hook = good(change_subscription.sync(hook.id, client=service, body=SubscriptionPatchRequest(
            description="changed")))
        assert hook.wake_up_throttling

        good(change_background_settings.sync(client=service, body=BackgroundSettingsPatch(
            permitted_identifiers=["feed"])))
        good(register_handler.sync("feed", client=service, body=HandlerRequest(
            kind=BackgroundTaskKind.PROCESSING)))
        good(submit_task_request.sync(client=service, body=BackgroundTaskSubmission(
            identifier="feed", recurrence=Recurrence(every_seconds=60))))
        """
}
