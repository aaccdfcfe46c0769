import re,sys,glob
MAX=110
def lex(src):
    """state per char: ' ' code, 'c' comment, 's' string (top-level quotes); dollar quotes are code"""
    st=[' ']*len(src); i=0;n=len(src)
    while i<n:
        c=src[i]
        if src.startswith('--',i):
            j=src.find('\n',i); j=n if j<0 else j
            for k in range(i,j): st[k]='c'
            i=j; continue
        if c in "'\"":
            j=i+1
            while True:
                j=src.index(c,j)
                if src[j+1:j+2]==c: j+=2; continue
                break
            for k in range(i,j+1): st[k]='s'
            i=j+1; continue
        i+=1
    return st
def norm(src):
    st=lex(src); out=[]; com=[]; cur=''
    i=0
    toks=[]
    while i<len(src):
        if st[i]=='c':
            j=i
            while j<len(src) and st[j]=='c': j+=1
            com+=src[i:j].lstrip('-').split(); i=j; continue
        if st[i]=='s':
            j=i+1
            q=src[i]
            # one literal
            while True:
                j=src.index(q,j)
                if src[j+1:j+2]==q: j+=2; continue
                break
            t=src[i:j+1]
            if q=="'" and toks and toks[-1][0]=='S' and '\n' in toks[-1][2]:
                toks[-1]=('S',toks[-1][1][:-1]+t[1:],'')
            else: toks.append(('S',t,''))
            i=j+1; continue
        if src[i].isspace():
            if toks and toks[-1][0]=='S': toks[-1]=('S',toks[-1][1],toks[-1][2]+src[i])
            i+=1; continue
        m=re.compile(r'\w+|.').match(src,i)
        toks.append(('T',m.group(0),'')); i=m.end()
    return [t[1] for t in toks],com
CL=['from','where','join','left join','cross join','inner join','union all','union','group by','order by','limit','returning','into','using','having','on conflict','values','for update','window','offset']
CLRE=re.compile(r'(left join|cross join|join|from|where|union all|union|group by|order by|limit|returning|into|using|having|on conflict|for update|window|set|values|do update)\b')
def candidates(line,st,indent,first_max):
    """yield (pos, depth, penalty, kind); pos = index where the next line starts (after whitespace)"""
    depth=0; prev_word=''; bet=False; case=0
    i=indent; n=len(line)
    mind=0
    while i<n:
        c=line[i]
        if st[i]=='s':
            j=i
            while j<n and st[j]=='s': j+=1
            i=j; prev_word="'"; continue
        if c in '([':
            depth+=1
            if re.match(r'\(\s*(select|with|values|case)\b',line[i:]): yield (i+1,depth-1+0.4,4,'paren')
            elif i>indent+8 and c=='(': yield (i+1,depth-1+0.9,14 ,'paren')
            prev_word='('; i+=1; continue
        if c in ')]': depth-=1; prev_word=')'; i+=1; continue
        if c==';' and depth==0 and line[i+1:i+2]==' ':
            yield (i+2,-1,0,'semi'); prev_word=';'; i+=1; continue
        if c==',':
            if i+1<n and line[i+1]==' ': yield (i+2,depth,18 if prev_word=="'" and 'build_object' in line and line[i+2:i+3]!="'" and depth>0 else 4,'comma')
            prev_word=','; i+=1; continue
        m=re.compile(r'\w+').match(line,i)
        if m:
            w=m.group(0)
            if i>indent and line[i-1] in ' ':
                mm=CLRE.match(line,i)
                if w in('case',): case+=1
                if mm and not (w=='from' and prev_word in('distinct','epoch')) and not (w=='join' and prev_word in('left','cross','inner')) and not (w=='set' and prev_word!='' and depth>0 and False) and not(w=='all') and not (w=='update') and not (w=='using' and prev_word=='') and not (w in('order','group') and prev_word=='(') and not (w=='values' and prev_word==')' and False) and not (w=='on' ) or (mm and mm.group(1)=='on conflict'):
                    yield (i,depth,0,'clause')
                elif w in('and','or'):
                    if bet and w=='and': bet=False
                    else: yield (i,depth,6 if w=='and' else 5.5,'bool')
                elif w=='filter': yield (i,depth,6,'filter')
                elif w=='between': bet=True
                elif w in('when',) : yield (i,depth,26 if prev_word=='case' else 1,'when')
                elif w=='else': yield (i,depth,2,'else')
                elif w=='then': yield (i,depth,7,'then')
                elif w=='on' and prev_word not in('conflict',) : yield (i,depth,5,'on')
                elif w=='with' and prev_word==')' : pass
                elif w=='case': yield (i,depth,9,'case')
                elif w in('is','in','like','not','as'): pass
            prev_word=w; i=m.end(); continue
        m=re.compile(r'(\|\||<=|>=|<>|=|<|>|\+|\*|/|->>|->)').match(line,i)
        if m and i>indent and line[i-1]==' ' and line[m.end():m.end()+1]==' ':
            op=m.group(0)
            yield (i,depth,8 if op=='||' else 16,'op')
            i=m.end(); prev_word=op; continue
        if c!=' ': prev_word=c
        i+=1
STARTCL=re.compile(r'(select|from|where|join|left join|cross join|insert into|update|delete|set|values|returning|order by|group by|limit|having|on conflict|union all|with)\b')
def brk(line,st,prevline,depthcall=0):
    if len(line)<=MAX: return [line]
    if depthcall>12: return [line]
    indent=len(line)-len(line.lstrip())
    text=line[indent:]
    # trailing comment
    if 'c' in st:
        k=st.index('c')
        if not line[:k].strip():
            return [line]
        com=line[k:]; code=line[:k].rstrip()
        pre=' '*indent+com
        return [pre]+brk(code,st[:len(code)],prevline,depthcall+1)
    # if / elsif ... then
    m=re.match(r'(if|elsif|while)\b.* (then|loop)$',text)
    if m and st[len(line)-1]==' ' and depthcall==0 or (m and text.startswith(('if','elsif','while'))):
        kw=m.group(2); code=line[:-len(kw)].rstrip()
        return brk(code,st[:len(code)],prevline,depthcall+1)+[' '*indent+kw]
    m=re.match(r'for [\w, ]+ in (select|execute|with)\b.* loop$',text)
    if m:
        k=indent+text.index(' in ')+3
        rest=' '*(indent+2)+line[k+1:-5]
        rs=[' ']*(indent+2)+st[k+1:-5]
        return [line[:k]]+brk(rest,rs,line[:k],depthcall+1)+[' '*indent+'loop']
    m=re.match(r'(return query(?: execute)?|return array\(|return \() ?(select|with)\b',text)
    if m:
        k=indent+len(m.group(1)); r=k+(1 if line[k]==' ' else 0)
        rest=' '*(indent+2)+line[r:]
        return [line[:k]]+brk(rest,[' ']*(indent+2)+st[r:],line[:k],depthcall+1)
    best=None
    for pos,depth,pen,kind in candidates(line,st,indent,MAX):
        first=line[:pos].rstrip()
        if len(first)>MAX: continue
        if pos<=indent+3: continue
        ll=len(first)
        rest=len(line)-pos
        score=depth*16+pen+max(0,60-ll)*0.35+(MAX-ll)*0.04+(14 if rest<15 else 0)+ (25 if ll-indent<20 else 0)
        if kind=='paren' and text.startswith('create or replace'): score-=60
        if best is None or score<best[0]: best=(score,pos,depth,kind)
    if best is None or best[0]>75:
        # split a string
        s=strsplit(line,st,indent)
        if s: return [s[0]]+brk(s[1],s[2],s[0],depthcall+1)
    if best is None: return [line]
    _,pos,depth,kind=best
    first=line[:pos].rstrip()
    sp=prevline.strip()
    ni=indent+2
    if kind!='paren' and depth<=0:
        if kind=='comma' and not STARTCL.match(text) and not text.startswith(('(select','when','then','else','perform','return','if','elsif','case')) and ' := ' not in text and (sp.endswith((',','(','select','returning',' function')) or text.startswith('(') and depth<0): ni=indent
        if kind=='clause' and STARTCL.match(text): ni=indent
        if kind=='bool' and re.match(r'(and|or)\b',text): ni=indent
        if kind in('when','else') and re.match(r'(when|else|then)\b',text): ni=indent
    if text.startswith('(') and depth==1 and kind=='clause': ni=indent+1
    if text.startswith('(select') and depth==0 and kind=='clause': ni=indent
    if kind=='semi': ni=indent
    elif depth<0: ni=max(2,indent-2) if kind=='clause' else indent
    rest=' '*ni+line[pos:]
    rs=[' ']*ni+st[pos:]
    return [first]+brk(rest,rs,first if not (kind=='comma' and ni==indent) else first,depthcall+1)
def strsplit(line,st,indent):
    # split the last string that spans MAX
    i=indent
    spans=[];k=0
    n=len(line)
    while k<n:
        if st[k]=='s' and line[k]=="'":
            j=k+1
            while True:
                j=line.find("'",j)
                if j<0: return None
                if line[j+1:j+2]=="'": j+=2; continue
                break
            spans.append((k,j)); k=j+1
        else: k+=1
    for a,b in reversed(spans):
        if a<MAX-20 and b>=MAX-1:
            if a and line[a-1] in 'EeUu&': return None
            p=line.rfind(' ',a+10,MAX-2)
            if p<0: return None
            first=line[:p+1]+"'"
            ni=indent if line[indent]=="'" else indent+2
            rest=' '*ni+"'"+line[p+1:]
            rs=[' ']*ni+['s']+st[p+1:]
            return first,rest,rs
    return None
def wrapcomment(lines):
    """lines: consecutive full-line comments of one indent"""
    out=[];carry=''
    ind=lines[0][:len(lines[0])-len(lines[0].lstrip())]
    pref=ind+'-- '
    for n,l in enumerate(lines):
        t=l.strip()[2:]
        special=t.startswith('  ') or t.strip()=='' or re.match(r' ?(\$\d|- |\d+\. )',t) is not None
        t=t.strip() if not special else t.rstrip()
        if carry:
            if special or (t==''):
                out.append(pref+carry); carry=''
            else:
                t=carry+' '+t; carry=''
        if special and len(l)<=MAX:
            out.append(l); continue
        if special: t2=t; sub=' '*(len(t)-len(t.lstrip())) ; 
        line=pref+t.strip() if not special else ind+'--'+(t if t.startswith(' ') else ' '+t)
        while len(line)>MAX:
            p=line.rfind(' ',0,MAX+1)
            head,tail=line[:p],line[p+1:]
            nxt=n+1<len(lines) and not special
            if nxt and len(pref+tail)<=MAX:
                line=head; carry=tail; break
            out.append(head)
            line=pref+(('' if not special else ' '*(len(t)-len(t.lstrip())))+tail)
        out.append(line)
    if carry:
        l=pref+carry
        while len(l)>MAX:
            p=l.rfind(' ',0,MAX+1); out.append(l[:p]); l=pref+l[p+1:]
        out.append(l)
    return out
def dofile(path):
    src=open(path).read()
    if max(map(len,src.split('\n')))<=MAX: return 0
    st=lex(src)
    lines=src.split('\n'); off=[];o=0
    for l in lines: off.append(o); o+=len(l)+1
    sts=[st[off[n]:off[n]+len(l)] for n,l in enumerate(lines)]
    out=[];i=0
    while i<len(lines):
        l=lines[i]; s=sts[i]
        if l.lstrip().startswith('--') and s and s[len(l)-len(l.lstrip())]=='c':
            ind=len(l)-len(l.lstrip()); j=i
            while j<len(lines) and lines[j].startswith(' '*ind+'--'): j+=1
            grp=lines[i:j]
            if any(len(x)>MAX for x in grp): out+=wrapcomment(grp)
            else: out+=grp
            i=j; continue
        instr = off[i]>0 and st[off[i]-1]=='s'   # the newline before lies in a string
        if len(l)<=MAX or instr: out.append(l); i+=1; continue
        m=re.match(r"(comment on [^']*? is)(?: (E?'.*';))?$",l)
        if m and m.group(2):
            out.append(m.group(1)); i_l='  '+m.group(2)
            out+=strlines(i_l); i+=1; continue
        if re.match(r"  '.*';$",l) and lines[i-1].startswith('comment on'):
            out+=strlines(l); i+=1; continue
        prev=out[-1] if out else ''
        new=brk(l,s,prev)
        last=new[-1]; li=len(last)-len(last.lstrip())
        nx=lines[i+1] if i+1<len(lines) else ''
        if len(new)>1 and last.endswith(',') and len(last)-li<45 and nx[:li].strip()=='' and nx[li:li+1] not in ('',' ') \
            and re.match(r"[a-z']",nx[li:]) and not re.match(r'(select|from|case|coalesce|\(|sum|count|with|not)\b',nx[li:]) and ' := ' not in nx[:40] and not nx.lstrip().startswith('--') \
            and 'case' not in last and re.match(r"(?!else|when|then|and|or|from|where|join|order)[a-z']",last.lstrip()) and not lines[i].lstrip().startswith(('when','else','then','case')) and '--' not in nx:
            k=len(l)-(len(last)-li); tail=l[k:]
            if tail==last[li:]:
                lines[i+1]=nx[:li]+tail+' '+nx[li:]
                sts[i+1]=sts[i+1][:li]+s[k:]+[' ']+sts[i+1][li:]
                new=new[:-1]
        # comments pulled out may be long
        fixed=[]
        for x in new:
            if x.strip().startswith('--') and len(x)>MAX: fixed+=wrapcomment([x])
            else: fixed.append(x)
        out+=fixed; i+=1
    res='\n'.join(out)
    a,ca=norm(src); b,cb=norm(res)
    if a!=b:
        for x,y in zip(a,b):
            if x!=y: print(path,'DIFF',x[:80],'|',y[:80]); break
        return -1
    if sorted(ca)!=sorted(cb): print(path,'COMMENT DIFF'); return -1
    open(path,'w').write(res)
    return 1
def strlines(l):
    out=[]
    while len(l)>MAX:
        p=l.rfind(' ',0,MAX-1)
        out.append(l[:p+1]+"'"); l="  '"+l[p+1:]
    return out+[l]
for f in sys.argv[1:]: dofile(f)
