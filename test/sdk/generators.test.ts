import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { STATEMENT_TYPES } from '../../src/api/routes/imports/statement-upload.ts';
import { findGoProgram } from '../support/go-program.ts';
import { INSTALL_TIMEOUT } from '../support/installed-program.ts';
import { createAccount } from '../support/movements.ts';
import { findPythonPackage } from '../support/python-package.ts';
import { useService } from '../support/service.ts';

/**
 * The OpenAPI document makes clients in other languages that compile, and with which a program lists, imports, creates a webhook and reads a
 * typed error. The TypeScript client has tests of its own.
 */

const service = useService();
const run = promisify(execFile);

let folder: string;
let env: Record<string, string>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ledgerbell-generators-'));
  await writeFile(
    join(folder, 'openapi.json'),
    JSON.stringify((await service.call('GET', '/openapi.json')).body),
  );
  const { api_key: key } = await service.customer();
  const { id } = await createAccount(service, key);
  const { PATH = '', HOME = '' } = process.env;
  env = { PATH, HOME, LEDGERBELL_URL: service.url, LEDGERBELL_KEY: key, ACCOUNT: String(id) };
  return () => rm(folder, { recursive: true });
});

/** The output of each program. */
const EXPECTED = ['accounts 1', 'import queued', 'webhook whsec_', 'error 422 /problems/invalid endpoint'];

const PYTHON = `
import os
from ledgerbell_client import AuthenticatedClient
from ledgerbell_client.api.accounts import list_accounts
from ledgerbell_client.api.imports import create_import
from ledgerbell_client.api.webhooks import create_webhook
from ledgerbell_client.models import NewImport, NewTransaction, NewWebhook

client = AuthenticatedClient(
    base_url=os.environ["LEDGERBELL_URL"], token=os.environ["LEDGERBELL_KEY"], prefix="", auth_header_name="Authentication"
)
account = int(os.environ["ACCOUNT"])
print("accounts", len(list_accounts.sync(client=client).accounts))
movement = NewTransaction.from_dict(
    {"account_id": account, "dc": "Credit", "amount": "1.00", "date_issue": "2026-01-15", "unique_id": "python"}
)
body = NewImport(transactions=[movement])
accepted = create_import.sync(client=client, body=body)
print("import", accepted.import_.status if hasattr(accepted, "import_") else accepted)
webhook = {"title": "Books", "endpoint": "http://127.0.0.1:9/", "event": "NEW_TRANSACTION", "account": "all"}
print("webhook", create_webhook.sync(client=client, body=NewWebhook.from_dict(webhook)).webhook.secret)
answer = create_webhook.sync_detailed(client=client, body=NewWebhook.from_dict({**webhook, "endpoint": "not an address"}))
problem = answer.parsed
print("error", answer.status_code.value, problem.type_, problem.errors[0].path)
`;

const GO = `
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"time"

	openapi_types "github.com/oapi-codegen/runtime/types"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	ctx := context.Background()
	key := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authentication", os.Getenv("LEDGERBELL_KEY"))
		return nil
	}
	client, err := NewClientWithResponses(os.Getenv("LEDGERBELL_URL"), WithRequestEditorFn(key))
	check(err)
	accounts, err := client.ListAccountsWithResponse(ctx, nil)
	check(err)
	fmt.Println("accounts", len(accounts.JSON200.Accounts))

	id, err := strconv.Atoi(os.Getenv("ACCOUNT"))
	check(err)
	var account NewTransaction_AccountId
	check(account.FromNewTransactionAccountId0(id))
	unique := "go"
	issued := openapi_types.Date{Time: time.Date(2026, 1, 15, 0, 0, 0, 0, time.UTC)}
	movement := NewTransaction{AccountId: account, Dc: "Credit", Amount: "1.00", DateIssue: issued, UniqueId: &unique}
	accepted, err := client.CreateImportWithResponse(ctx, nil, NewImport{Transactions: []NewTransaction{movement}})
	check(err)
	fmt.Println("import", accepted.JSON202.Import.Status)

	var all NewWebhook_Account
	check(all.UnmarshalJSON([]byte("\\"all\\"")))
	endpoint := "http://127.0.0.1:9/"
	event := NewWebhookEvent("NEW_TRANSACTION")
	books := NewWebhook{Title: "Books", Endpoint: &endpoint, Event: &event, Account: all}
	webhook, err := client.CreateWebhookWithResponse(ctx, nil, books)
	check(err)
	fmt.Println("webhook", *webhook.JSON200.Webhook.Secret)
	endpoint = "not an address"
	refused, err := client.CreateWebhookWithResponse(ctx, nil, books)
	check(err)
	problem := refused.ApplicationproblemJSON422
	fmt.Println("error", refused.StatusCode(), problem.Type, problem.Errors[0].Path)
}
`;

const linesOf = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((line) =>
      line.replace(/(whsec_).*/, '$1').replace(/^import (queued|running|done)$/, 'import queued'),
    );

describe('oapi-codegen', () => {
  let program: string | null = null;
  beforeAll(async () => {
    program = await findGoProgram('oapi-codegen', 'No Go client is generated');
  }, INSTALL_TIMEOUT);

  it('generates a Go client that works', async ({ skip }) => {
    if (program === null) skip();
    const go = join(folder, 'go');
    await mkdir(go);
    const document = join(folder, 'openapi.json');
    await run(program ?? '', [
      '-generate',
      'types,client',
      '-package',
      'main',
      '-o',
      join(go, 'client.go'),
      document,
    ]);
    expect((await stat(join(go, 'client.go'))).size).toBeLessThan(1_600_000);
    await writeFile(join(go, 'main.go'), GO);
    await writeFile(join(go, 'go.mod'), 'module example.com/client\n\ngo 1.24\n');
    const options = { cwd: go, env: { ...process.env, ...env } };
    await run('go', ['mod', 'tidy'], options);
    const { stdout } = await run('go', ['run', '.'], options);
    expect(linesOf(stdout)).toEqual(EXPECTED);
  });
});

describe('openapi-python-client', () => {
  let site: string | null = null;
  beforeAll(async () => {
    site = await findPythonPackage('openapi-python-client', '0.29.1', 'No Python client is generated');
  }, INSTALL_TIMEOUT);

  it('generates a Python client that works', async ({ skip }) => {
    if (site === null) skip();
    const python = { ...env, PYTHONPATH: site ?? '' };
    const config = join(folder, 'config.yml');
    // It does not know these media types, and takes them for files.
    const types = ['application/x-ndjson', ...STATEMENT_TYPES];
    const overrides = Object.fromEntries(types.map((type) => [type, 'application/octet-stream']));
    await writeFile(config, JSON.stringify({ post_hooks: [], content_type_overrides: overrides }));
    const args = [
      'generate',
      '--path',
      join(folder, 'openapi.json'),
      '--meta',
      'none',
      '--config',
      config,
      '--fail-on-warning',
    ];
    await run(
      'python3',
      ['-m', 'openapi_python_client', ...args, '--output-path', join(folder, 'ledgerbell_client')],
      { env: python },
    );
    await writeFile(join(folder, 'client.py'), PYTHON);
    const { stdout } = await run('python3', ['client.py'], { cwd: folder, env: python });
    expect(linesOf(stdout)).toEqual(EXPECTED);
  });
});
