import type { TemplateFacts } from '../../verdict/template-view.ts';
import type { WebhookRecord } from '../../webhook-record/record.ts';
import { type Column, formatCount, Table, TemplateLink, withoutCustomer } from '../page/elements.tsx';

/** The templates on the page of all webhooks. */

/** Which customers a template matches. */
export const describeCustomers = ({ customers }: TemplateFacts): string =>
  customers === 'all'
    ? 'all'
    : `with ${Object.entries(customers.metadata)
        .map(([name, value]) => `${name}=${value}`)
        .join(', ')}`;

interface TemplatesSectionProps {
  templates: readonly WebhookRecord[];
  /** By the id of the template. */
  facts: ReadonlyMap<string, TemplateFacts>;
  /** Of a table of webhooks. The first names the webhook. */
  columns: readonly Column<WebhookRecord>[];
}

/** All templates, each with how many customers it has. Nothing if there are none. */
export function TemplatesSection({ templates, facts, columns }: TemplatesSectionProps) {
  if (templates.length === 0) return null;
  const own: Column<WebhookRecord>[] = [
    { label: 'Template', kind: 'wide', cell: ({ id, title }) => <TemplateLink id={id} title={title} /> },
    {
      label: 'Customers',
      kind: 'number',
      cell: ({ id }) => formatCount(facts.get(id)?.webhooks.active ?? 0),
    },
  ];
  return (
    <section>
      <h2>Templates</h2>
      <Table
        caption="Templates"
        columns={[...own, ...withoutCustomer(columns.slice(1))]}
        rows={templates}
        empty=""
      />
    </section>
  );
}
