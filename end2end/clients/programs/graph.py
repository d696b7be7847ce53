"""What an application does with Microsoft's client for Python: lists, pages through, reads, batches and writes.

Only its configuration knows of Spillway.
"""

# docs: configure
import os

import httpx
from kiota_abstractions.authentication import (
    AccessTokenProvider,
    AllowedHostsValidator,
    BaseBearerTokenAuthenticationProvider,
)
from msgraph_core import BaseGraphRequestAdapter, GraphClientFactory

# The gateway, and the upstream's name.
graph = os.environ.get("GRAPH_URL", "https://spillway.example/graph")


class Token(AccessTokenProvider):
    """Your token for Graph. With azure-identity: see below."""

    async def get_authorization_token(self, uri, additional_authentication_context={}):
        return os.environ.get("GRAPH_TOKEN", "")

    def get_allowed_hosts_validator(self):
        return AllowedHostsValidator([httpx.URL(graph).host])


client = httpx.AsyncClient(
    # A Spillway token; not needed from a client network.
    headers={"Spillway-Token": os.environ.get("SPILLWAY_TOKEN", "")},
    # A call may be held for as long as the upstream's hold_max_ms, 30 s; httpx gives up after 5.
    timeout=httpx.Timeout(100, connect=30),
    http2=True,
)
adapter = BaseGraphRequestAdapter(
    BaseBearerTokenAuthenticationProvider(Token()),
    http_client=GraphClientFactory.create_with_default_middleware(client=client),
)
# Here and not at the httpx client, which would put a slash behind it, and the adapter another.
adapter.base_url = f"{graph}/v1.0"
# docs: end

import asyncio
import json
from dataclasses import dataclass, field

from kiota_abstractions.method import Method
from kiota_abstractions.request_information import RequestInformation
from kiota_abstractions.serialization import (
    Parsable,
    ParseNode,
    ParseNodeFactoryRegistry,
    SerializationWriterFactoryRegistry,
)
from kiota_serialization_json.json_parse_node_factory import JsonParseNodeFactory
from kiota_serialization_json.json_serialization_writer_factory import JsonSerializationWriterFactory
from msgraph_core.requests.batch_request_builder import BatchRequestBuilder
from msgraph_core.requests.batch_request_content import BatchRequestContent
from msgraph_core.requests.batch_request_item import BatchRequestItem
from msgraph_core.tasks.page_iterator import PageIterator

# What msgraph-sdk does for those who use it: models, and JSON.
JSON = "application/json"
ParseNodeFactoryRegistry().CONTENT_TYPE_ASSOCIATED_FACTORIES[JSON] = JsonParseNodeFactory()
SerializationWriterFactoryRegistry().CONTENT_TYPE_ASSOCIATED_FACTORIES[JSON] = JsonSerializationWriterFactory()


@dataclass
class Item(Parsable):
    """A notebook, section or page."""

    id: str = ""
    title: str = ""

    @staticmethod
    def create_from_discriminator_value(parse_node: ParseNode) -> "Item":
        return Item()

    def get_field_deserializers(self):
        return {
            "id": lambda node: setattr(self, "id", node.get_str_value()),
            "title": lambda node: setattr(self, "title", node.get_str_value()),
        }

    def serialize(self, writer) -> None:
        writer.write_str_value("id", self.id)


@dataclass
class Items(Parsable):
    """One part of a list."""

    value: list[Item] = field(default_factory=list)
    odata_next_link: str | None = None

    @staticmethod
    def create_from_discriminator_value(parse_node: ParseNode) -> "Items":
        return Items()

    def get_field_deserializers(self):
        return {
            "value": lambda node: setattr(self, "value", node.get_collection_of_object_values(Item)),
            "@odata.nextLink": lambda node: setattr(self, "odata_next_link", node.get_str_value()),
        }

    def serialize(self, writer) -> None:
        writer.write_collection_of_object_values("value", self.value)


# docs: call
def request(method: Method, path: str) -> RequestInformation:
    asked = RequestInformation()
    asked.http_method = method
    asked.url = f"{adapter.base_url}{path}"
    return asked


async def pages_of(path: str) -> list[Item]:
    first = await adapter.send_async(request(Method.GET, path), Items, {})
    pages: list[Item] = []
    await PageIterator(first, adapter).iterate(lambda page: pages.append(page) or True)
    return pages


async def content_of(page: str) -> str:
    asked = request(Method.GET, f"/me/onenote/pages/{page}/content")
    return (await adapter.send_primitive_async(asked, "bytes", {})).decode()


async def titles_of(pages: list[str]) -> list[str]:
    """The titles of at most 20 pages, by one request."""
    items = []
    for index, page in enumerate(pages):
        part = RequestInformation()
        part.http_method = Method.GET
        # The parts of a batch are relative to the version.
        part.url = f"/me/onenote/pages/{page}?$select=id,title"
        items.append(BatchRequestItem(part, id=str(index)))
    batch = BatchRequestContent({item.id: item for item in items})
    asked = await BatchRequestBuilder(adapter).to_post_request_information(batch)
    answers = json.loads(await adapter.send_primitive_async(asked, "bytes", {}))["responses"]
    titles = {answer["id"]: answer["body"]["title"] for answer in answers}
    return [titles[item.id] for item in items]


async def write(section: str, title: str, text: str) -> Item:
    asked = request(Method.POST, f"/me/onenote/sections/{section}/pages")
    html = f"<html><head><title>{title}</title></head><body><p>{text}</p></body></html>"
    asked.set_stream_content(html.encode(), "text/html")
    return await adapter.send_async(asked, Item, {})
# docs: end


async def append(page: str, html: str) -> None:
    asked = request(Method.PATCH, f"/me/onenote/pages/{page}/content")
    changes = [{"target": "body", "action": "append", "content": html}]
    asked.set_stream_content(json.dumps(changes).encode(), JSON)
    await adapter.send_no_response_content_async(asked, {})


async def main() -> None:
    notebooks = await adapter.send_async(request(Method.GET, "/me/onenote/notebooks"), Items, {})
    sections = await adapter.send_async(request(Method.GET, "/me/onenote/sections"), Items, {})
    pages = await pages_of("/me/onenote/pages?$select=id,title")
    wanted = [page.id for page in pages[: int(os.environ["CONTENTS"])]]
    lanes = asyncio.Semaphore(16)

    async def read(page: str) -> str:
        async with lanes:
            return await content_of(page)

    contents = await asyncio.gather(*map(read, wanted))
    batched = await titles_of(wanted[:20])
    made = await write(sections.value[0].id, "Written", "by Python")
    await append(made.id, "<p>and changed</p>")
    results = {
        "notebooks": len(notebooks.value),
        "sections": len(sections.value),
        "pages": [page.id for page in pages],
        "titles": [page.title for page in pages[:20]],
        "contents": sum("data-absolute-enabled" in html for html in contents),
        "batched": batched,
        "written": await content_of(made.id),
    }
    print(json.dumps(results))
    await client.aclose()


asyncio.run(main())
