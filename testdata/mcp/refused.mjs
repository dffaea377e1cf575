// A client on version 1 of the TypeScript SDK, which checks structured content by the output schema of the tool, also
// that of an error, once it has listed the tools. It prints the text of a refused call as JSON.
//
// node refused.mjs MANAGER_URL
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const client = new Client({ name: 'test', version: '1.0.0' });
await client.connect(new StreamableHTTPClientTransport(new URL(process.argv[2])));
await client.listTools();
const refused = await client.callTool({ name: 'get_standings', arguments: {} });
console.log(JSON.stringify({ failed: refused.isError, texts: refused.content.map((part) => part.text) }));
process.exit(0);
